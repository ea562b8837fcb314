import { Cache, Context, Data, Duration, Effect, Exit, Layer, MutableRef, Option, type Redacted } from "effect"
import { allows, type Scope } from "../domain/Account.ts"
import type { KeyId, OrganizationId } from "../domain/Ids.ts"
import type { RateLimitState } from "../domain/RateLimit.ts"
import { KeyStore, type WorkingKey } from "../store/KeyStore.ts"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"
import * as ApiKey from "./ApiKey.ts"
import { InstallationSecret } from "./InstallationSecret.ts"
import { trackKeyUses } from "./KeyUses.ts"

/** The key is missing, malformed, unknown, expired or revoked; which of them stays with us. */
export class Unauthorized extends Data.TaggedError("Unauthorized") {}

/** The key lacks the scope that the operation needs. */
export class Forbidden extends Data.TaggedError("Forbidden")<{ readonly required: Scope }> {}

/** Who calls, for the time of one exchange. */
export class Caller extends Context.Service<
  Caller,
  {
    readonly organizationId: OrganizationId
    readonly keyId: KeyId
    readonly scopes: ReadonlySet<Scope>
    /** The rate limits as the exchange's last metered call left them. */
    readonly rateLimits: MutableRef.MutableRef<Option.Option<RateLimitState>>
    /** Whether the exchange's last metered call was answered from an earlier one with the same idempotency key. */
    readonly replayed: MutableRef.MutableRef<boolean>
  }
>()("sluice/accounts/Authentication/Caller") {}

/** Fails unless the caller's key has the scope. */
export const requireScope = (required: Scope): Effect.Effect<void, Forbidden, Caller> =>
  Effect.flatMap(Caller, ({ scopes }) => (allows(scopes, required) ? Effect.void : new Forbidden({ required })))

/** How long a process may go on trusting what it read about a key; a revocation is seen within this time. */
const KEY_CACHE_TTL_MS = 3000
const KEY_CACHE_CAPACITY = 10_000

/**
 * What was read is as old as the question, not as the answer. A key that was not there may be made the next moment, and
 * one that expires is not trusted for longer than it lives.
 */
const timeToLiveMs = ([asked, key]: readonly [Duration.Duration, Option.Option<WorkingKey>]): number =>
  Option.match(key, {
    onNone: () => 0,
    onSome: ({ endsInMs }) =>
      Math.max(0, Math.min(KEY_CACHE_TTL_MS, endsInMs ?? KEY_CACHE_TTL_MS) - Duration.toMillis(asked))
  })

/** Finds out who presents a bearer key. */
export class Authentication extends Context.Service<
  Authentication,
  {
    authenticate(key: Redacted.Redacted<string>): Effect.Effect<Caller["Service"], Unauthorized | StoreUnavailable>
  }
>()("sluice/accounts/Authentication") {
  static readonly layer = Layer.effect(
    Authentication,
    Effect.gen(function* () {
      const store = yield* KeyStore
      const pepper = yield* InstallationSecret
      const noteUse = yield* trackKeyUses
      const keys = yield* Cache.makeWith((id: KeyId) => Effect.timed(store.find(id)), {
        capacity: KEY_CACHE_CAPACITY,
        timeToLive: (exit) => (Exit.isSuccess(exit) ? timeToLiveMs(exit.value) : 0)
      })

      const authenticate = Effect.fn("Authentication.authenticate")(function* (key: Redacted.Redacted<string>) {
        const keyId = ApiKey.keyId(key)
        if (Option.isNone(keyId)) return yield* new Unauthorized()
        const [, record] = yield* Cache.get(keys, keyId.value)
        if (Option.isNone(record) || !ApiKey.matches(record.value.secretHmac, ApiKey.hmac(key, pepper))) {
          return yield* new Unauthorized()
        }
        yield* noteUse(record.value.id)
        return {
          organizationId: record.value.organizationId,
          keyId: record.value.id,
          scopes: new Set(record.value.scopes),
          rateLimits: MutableRef.make(Option.none<RateLimitState>()),
          replayed: MutableRef.make(false)
        }
      })

      return Authentication.of({ authenticate })
    })
  )
}
