import { Effect, MutableRef, Option } from "effect"
import { Caller } from "../accounts/Authentication.ts"
import { Credits } from "../accounts/Credits.ts"
import { rateLimitHeaders } from "../domain/RateLimit.ts"

/**
 * The rate-limit fields for the response of an authenticated exchange: the state that its last metered call left, or,
 * when nothing was metered, the state as it is. None while the database cannot tell.
 */
export const rateLimitFields: Effect.Effect<Record<string, string>, never, Caller | Credits> = Effect.gen(function* () {
  const { keyId, organizationId, rateLimits } = yield* Caller
  const known = MutableRef.get(rateLimits)
  if (Option.isSome(known)) return rateLimitHeaders(known.value)
  const credits = yield* Credits
  return yield* Effect.map(credits.rateLimits(organizationId, keyId), rateLimitHeaders)
}).pipe(Effect.catchTag("StoreUnavailable", () => Effect.succeed({})))
