import { Clock, Effect } from "effect"

/** Runs an effect by the machine's time: a server's answer takes real seconds, also where a test's time is virtual. */
export const onWallClock = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())
