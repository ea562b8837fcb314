import { Clock, Duration, Effect, Option } from "effect"
import type { Idempotency } from "../../domain/Idempotency.ts"
import type { KeyId, OperationId, OrganizationId } from "../../domain/Ids.ts"
import type { RateLimits } from "../../domain/RateLimit.ts"
import type { Batch, Terms } from "../AccountBatch.ts"
import { heldMicro, type MemoryAccount, MemoryAccounts, postedMicro } from "../MemoryAccounts.ts"
import { admit, forgetExpired, release, settle, standingRecord } from "./MemoryBatch.ts"
import { accountTime, rateLimitState } from "./MemoryLimits.ts"

const extend = (account: MemoryAccount, operationId: OperationId, expiresAt: number) => {
  const hold = account.holds.get(operationId)
  if (hold !== undefined) account.holds.set(operationId, { ...hold, expiresAt })
}

/** An account store without a database. */
export const makeMemoryAccountStore = Effect.gen(function* () {
  const accounts = yield* MemoryAccounts
  const withAccount = <A>(organization: OrganizationId, use: (account: MemoryAccount, now: number) => A) =>
    Effect.map(Clock.currentTimeMillis, (now) => use(accounts.get(organization), now))

  return {
    commit: (organization: OrganizationId, { admissions, settlements }: Batch, terms: Terms) =>
      withAccount(organization, (account, now) => ({
        settlements: settlements.map((settlement) => settle(account, settlement, now)),
        admissions: admissions.map((call) => admit(account, call, terms, now))
      })),
    response: (organization: OrganizationId, idempotency: Idempotency) =>
      withAccount(organization, (account, now) =>
        Option.fromNullishOr(standingRecord(account, idempotency, now)?.completed?.response)
      ),
    rateLimits: (organization: OrganizationId, keyId: KeyId, defaults: RateLimits) =>
      withAccount(organization, (account, now) => rateLimitState(account, keyId, defaults, accountTime(account, now))),
    balance: (organization: OrganizationId) =>
      withAccount(organization, (account) => ({
        grantedMicro: account.grantedMicro,
        postedMicro: postedMicro(account),
        heldMicro: heldMicro(account)
      })),
    extendHolds: (operationIds: ReadonlyArray<OperationId>, life: Duration.Duration) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        for (const account of accounts.all) {
          for (const id of operationIds) extend(account, id, now + Duration.toMillis(life))
        }
      }),
    sweep: Effect.map(Clock.currentTimeMillis, (now) => {
      let released = 0
      for (const account of accounts.all) {
        released += release(account, now)
        forgetExpired(account, now)
      }
      return released
    }),
    check: Effect.void
  }
})
