import { Cause, Duration, Effect, Predicate, Schema } from "effect"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { onWallClock } from "./WallClock.ts"

/** The database cannot be reached or gave up; a later try may succeed. Nothing is known to have been written. */
export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>()("StoreUnavailable", {
  cause: Schema.Defect()
}) {}

/** How long a store's operation may take, waiting for a connection included. */
const OPERATION_TIMEOUT = Duration.seconds(30)

const expireAfter = (duration: Duration.Duration) =>
  Effect.sleep(duration).pipe(
    Effect.andThen(new StoreUnavailable({ cause: new Error("The database did not answer in time") })),
    onWallClock
  )

/**
 * SQLSTATE classes of a server that is short of resources (53), shut down or starting up (57), that ended an idle
 * transaction (25P03) or has a failing disk (58). https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const UNAVAILABLE_STATES = /^(53|57|58|25P0[34])/

const isUnavailable = ({ reason }: SqlError): boolean => {
  if (reason.isRetryable || reason._tag === "AuthenticationError") return true
  const { cause } = reason
  return Predicate.hasProperty(cause, "code") && Predicate.isString(cause.code) && UNAVAILABLE_STATES.test(cause.code)
}

/** The `SqlError` of a database that is away; a transaction that cannot even roll back has it as a defect. */
const findUnavailable = (cause: Cause.Cause<unknown>): SqlError | undefined => {
  for (const reason of cause.reasons) {
    const error = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined
    if (isSqlError(error) && isUnavailable(error)) return error
  }
  return undefined
}

/** `orUnavailable` for an operation that may take this long. */
export const orUnavailableWithin = (timeout: Duration.Duration) => {
  const expire = expireAfter(timeout)
  return <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, Exclude<E, SqlError> | StoreUnavailable, R> =>
    self.pipe(
      Effect.raceFirst(expire),
      Effect.catchCause((cause): Effect.Effect<never, Exclude<E, SqlError> | StoreUnavailable> => {
        const unavailable = findUnavailable(cause)
        if (unavailable !== undefined) return Effect.fail(new StoreUnavailable({ cause: unavailable }))
        const mistake = cause.reasons.find((reason) => Cause.isFailReason(reason) && isSqlError(reason.error))
        return mistake === undefined
          ? Effect.failCause(cause as Cause.Cause<Exclude<E, SqlError> | StoreUnavailable>)
          : Effect.die(Cause.squash(cause))
      })
    )
}

/**
 * Turns a database that is away, overloaded or too slow into `StoreUnavailable`. Any other `SqlError` is a mistake in
 * our own SQL or data: a defect. Every public operation of a store ends with it.
 */
export const orUnavailable = orUnavailableWithin(OPERATION_TIMEOUT)
