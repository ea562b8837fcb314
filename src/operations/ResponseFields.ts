import { Effect, MutableRef, Option } from "effect"
import { Caller } from "../accounts/Authentication.ts"
import { Credits } from "../accounts/Credits.ts"
import { rateLimitHeaders } from "../domain/RateLimit.ts"

/**
 * The rate limits as the exchange's last metered call left them, or, when nothing was metered, as they are. Nothing
 * while the database cannot tell.
 */
const rateLimitFields = Effect.gen(function* () {
  const { keyId, organizationId, rateLimits } = yield* Caller
  const known = MutableRef.get(rateLimits)
  if (Option.isSome(known)) return rateLimitHeaders(known.value)
  const credits = yield* Credits
  return yield* Effect.map(credits.rateLimits(organizationId, keyId), rateLimitHeaders)
}).pipe(
  // The answer is made already; whatever is wrong here must not keep it from the caller.
  Effect.catchCause((cause) => Effect.as(Effect.logWarning("The rate limits could not be told", cause), {}))
)

/** What the response of an authenticated exchange says beside its body: rate limits, and whether it is a replay. */
export const responseFields: Effect.Effect<Record<string, string>, never, Caller | Credits> = Effect.gen(function* () {
  const { replayed } = yield* Caller
  const fields = yield* rateLimitFields
  return MutableRef.get(replayed) ? { ...fields, "idempotent-replayed": "true" } : fields
})
