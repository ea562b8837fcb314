import { Effect, Layer, MutableRef, Option } from "effect"
import type { Caller } from "../../src/accounts/Authentication.ts"
import { Credits } from "../../src/accounts/Credits.ts"
import type { Scope } from "../../src/domain/Account.ts"
import { KeyId, OrganizationId } from "../../src/domain/Ids.ts"
import type { RateLimitState } from "../../src/domain/RateLimit.ts"
import { StoreUnavailable } from "../../src/store/StoreUnavailable.ts"

export const organizationId = OrganizationId.make("acme")

/** A caller whose key has these scopes. */
export const caller = (...scopes: ReadonlyArray<Scope>): Caller["Service"] => ({
  organizationId,
  keyId: KeyId.make("key"),
  scopes: new Set(scopes),
  rateLimits: MutableRef.make(Option.none<RateLimitState>()),
  replayed: MutableRef.make(false)
})

export const rateLimits: RateLimitState = {
  minute: { limit: 60, remaining: 59, resetSeconds: 60 },
  day: { limit: 10_000, remaining: 9_999, resetSeconds: 3600 }
}

/** What a `Credits` was asked to do, in order. */
export type CreditsCall = readonly ["admit", number] | readonly ["settle", number]

/** A `Credits` that admits everything and writes down what it is asked; each method can be replaced. */
export const recordingCredits = (replaced: Partial<Credits["Service"]> = {}) => {
  const calls: Array<CreditsCall> = []
  const layer = Layer.succeed(
    Credits,
    Credits.of({
      admit: (_, { boundMicro }) =>
        Effect.sync(() => {
          calls.push(["admit", boundMicro])
          return { rateLimits, replay: Option.none() }
        }),
      settle: (_organization, { usedMicro }) =>
        Effect.sync(() => {
          calls.push(["settle", usedMicro])
          return usedMicro
        }),
      rateLimits: () => Effect.succeed(rateLimits),
      balance: () => Effect.succeed({ balance: 1, held: 0, spent: 0, granted: 1 }),
      ...replaced
    })
  )
  return { calls, layer }
}

export const unavailable = new StoreUnavailable({ cause: new Error("connection refused by 10.0.0.7") })
