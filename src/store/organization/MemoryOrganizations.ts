import { Clock, Effect } from "effect"
import type { OperationId, OrganizationId } from "../../domain/Ids.ts"
import { KeyStore } from "../KeyStore.ts"
import { MemoryAccounts } from "../MemoryAccounts.ts"
import { type NewOrganization, type OrganizationLimits, OrganizationRefused } from "./Organization.ts"

/** As `grant_credits` bounds a pool. */
const MAX_GRANTED_MICRO = 9_000_000_000_000_000

/** Organizations in memory; their keys go into `KeyStore`. */
export const makeMemoryOrganizations = Effect.gen(function* () {
  const accounts = yield* MemoryAccounts
  const keys = yield* KeyStore

  const find = (id: OrganizationId) =>
    Effect.suspend(() => {
      const account = accounts.find(id)
      return account === undefined ? new OrganizationRefused({ reason: "not_found" }) : Effect.succeed(account)
    })

  const create = Effect.fnUntraced(function* ({ grantedMicro, id, key }: NewOrganization) {
    if (accounts.find(id) !== undefined) return false
    accounts.open(id, grantedMicro, yield* Clock.currentTimeMillis)
    yield* keys.put({ ...key, organizationId: id })
    return true
  })

  const grant = Effect.fnUntraced(function* (id: OrganizationId, operationId: OperationId, amountMicro: number) {
    const account = yield* find(id)
    const earlier = account.entries.find((entry) => entry.operationId === operationId)
    if (earlier !== undefined) {
      return earlier.amountMicro === amountMicro
        ? undefined
        : yield* new OrganizationRefused({ reason: "grant_mismatch" })
    }
    if (account.grantedMicro + amountMicro > MAX_GRANTED_MICRO) {
      return yield* new OrganizationRefused({ reason: "too_many_credits" })
    }
    const createdAt = yield* Clock.currentTimeMillis
    account.entries.push({ kind: "grant", operationId, operation: "grant", amountMicro, createdAt })
    account.grantedMicro += amountMicro
  })

  const setLimits = (id: OrganizationId, { perDay, perMinute }: OrganizationLimits) =>
    Effect.map(find(id), (account) => {
      account.perMinute = perMinute ?? undefined
      account.perDay = perDay ?? undefined
    })

  return {
    create,
    exists: (id: OrganizationId) => Effect.sync(() => accounts.find(id) !== undefined),
    grant,
    setLimits
  }
})
