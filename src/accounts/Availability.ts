import { Duration, Effect, FiberSet, Schedule, type Scope } from "effect"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"

/** While the database is away, how often it is asked for a sign of life. */
const ASK_EVERY = Duration.millis(200)

export interface Availability {
  /** Runs an effect that needs the database; fails at once while the database is known to be away. */
  guard<A, E>(effect: Effect.Effect<A, E | StoreUnavailable>): Effect.Effect<A, E | StoreUnavailable>
}

/**
 * Remembers that the database is away, so that calls are refused at once and do not pile up before a time-out each. It
 * asks by itself, with `check`, until the database is back.
 */
export const make = Effect.fnUntraced(function* (
  check: Effect.Effect<void, StoreUnavailable>
): Effect.fn.Return<Availability, never, Scope.Scope> {
  const run = yield* FiberSet.makeRuntime<never, void>()
  let away: StoreUnavailable | undefined

  const watch = Effect.gen(function* () {
    yield* Effect.logWarning("The database is away", away?.cause)
    yield* Effect.retry(check, Schedule.spaced(ASK_EVERY))
    away = undefined
    yield* Effect.logInfo("The database is back")
  }).pipe(Effect.orDie)

  const leave = (error: StoreUnavailable) =>
    Effect.sync(() => {
      if (away !== undefined) return
      away = error
      run(watch)
    })

  const isUnavailable = <E>(error: E | StoreUnavailable): error is StoreUnavailable =>
    (error as Partial<StoreUnavailable>)._tag === "StoreUnavailable"

  const guard = <A, E>(effect: Effect.Effect<A, E | StoreUnavailable>) =>
    Effect.suspend(() =>
      away === undefined
        ? Effect.tapError(effect, (error) => (isUnavailable(error) ? leave(error) : Effect.void))
        : Effect.fail(away)
    )

  return { guard }
})
