import { Clock, Effect } from "effect"

const nanos = (now: number): bigint => BigInt(now) * 1_000_000n

/** A clock that stands still at `now` (milliseconds since 1970); nobody wakes up on it. */
export const clockAt = (now: number): Clock.Clock => ({
  currentTimeMillisUnsafe: () => now,
  currentTimeMillis: Effect.succeed(now),
  currentTimeNanosUnsafe: () => nanos(now),
  currentTimeNanos: Effect.succeed(nanos(now)),
  monotonicTimeNanosUnsafe: () => nanos(now),
  monotonicTimeNanos: Effect.succeed(nanos(now)),
  sleep: () => Effect.never
})

/** Runs an effect at a moment of its own. */
export const at = (now: number) => Effect.provideService(Clock.Clock, clockAt(now))
