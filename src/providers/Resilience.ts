import { Duration, Effect, Random, Schedule } from "effect"
import { ProviderError, ProviderTimeout } from "./ProviderError.ts"

/** Once, around any vendor: how long one attempt may take, and when another one is worth while. */

const RETRIES = 2

/** A vendor that asks for a longer pause is not waited for: the caller learns of it and decides. */
const MAX_RETRY_AFTER_MS = 10_000

const isServerFailure = (status: number): boolean => status === 409 || status >= 500

/** Whether the same call may succeed a moment later. */
const canRetryMend = ({ reason }: ProviderError): boolean => {
  switch (reason._tag) {
    case "ProviderOverloaded":
      return (reason.retryAfterMs ?? 0) <= MAX_RETRY_AFTER_MS
    case "ProviderFailed":
      // Without a status the connection failed or the answer was cut.
      return reason.status === undefined || isServerFailure(reason.status)
    default:
      return reason._tag === "ProviderTimeout"
  }
}

const retryAfterMs = ({ reason }: ProviderError): number =>
  reason._tag === "ProviderOverloaded" ? (reason.retryAfterMs ?? 0) : 0

/** Full jitter: a random share of 0.5 s, then of 1 s, after the pause that the vendor asks for. */
const backoff = Schedule.exponential("500 millis").pipe(
  Schedule.upTo({ times: RETRIES }),
  Schedule.setInputType<ProviderError>(),
  Schedule.modifyDelay(({ duration, input }) =>
    Effect.map(Random.next, (share) => retryAfterMs(input) + share * Duration.toMillis(duration))
  )
)

/**
 * Attempts a vendor call at most three times, each attempt within `attemptTimeout`. The caller's deadline bounds the
 * whole by interruption, which stops the attempt under way.
 */
export const resilient =
  (provider: string, attemptTimeout: Duration.Input) =>
  <A>(attempt: Effect.Effect<A, ProviderError>): Effect.Effect<A, ProviderError> =>
    attempt.pipe(
      Effect.timeoutOrElse({
        duration: attemptTimeout,
        orElse: () => Effect.fail(new ProviderError({ provider, reason: new ProviderTimeout() }))
      }),
      Effect.retry({ schedule: backoff, while: canRetryMend })
    )
