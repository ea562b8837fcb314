import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { KeyId, OperationId, OrganizationId } from "../../src/domain/Ids.ts"
import { AccountStore } from "../../src/store/AccountStore.ts"
import { heldMicro, MemoryAccounts, postedMicro } from "../../src/store/MemoryAccounts.ts"
import { layerVirtualTime } from "./Database.ts"
import type { ModelOptions } from "./LedgerModel.ts"

/** All that is kept of an account, each list by its first column. */
export interface AccountSnapshot {
  readonly grantedMicro: number
  readonly postedMicro: number
  readonly heldMicro: number
  readonly holds: ReadonlyArray<readonly [OperationId, amountMicro: number]>
  readonly charges: ReadonlyArray<readonly [OperationId, amountMicro: number]>
  /** Those that stand: `space/key`, operation and response. */
  readonly records: ReadonlyArray<readonly [string, OperationId, string | null]>
}

/** Opens and looks into accounts, whatever keeps them. */
export interface Ledgers {
  open(organization: OrganizationId, options: ModelOptions): Effect.Effect<void>
  snapshot(organization: OrganizationId, now: number): Effect.Effect<AccountSnapshot>
}

const byFirst = (
  one: readonly [string, ...ReadonlyArray<unknown>],
  other: readonly [string, ...ReadonlyArray<unknown>]
) => (one[0] < other[0] ? -1 : 1)

export const memoryLedgers = Effect.map(
  MemoryAccounts,
  (accounts): Ledgers => ({
    open: (organization, { grantedMicro, keyLimits, perDay, perMinute }) =>
      Effect.sync(() => {
        const account = accounts.open(organization, grantedMicro, 0)
        Object.assign(account, { perDay, perMinute })
        for (const [key, limit] of keyLimits) account.keyLimits.set(key, limit)
      }),
    snapshot: (organization, now) =>
      Effect.sync(() => {
        const account = accounts.get(organization)
        return {
          grantedMicro: account.grantedMicro,
          postedMicro: postedMicro(account),
          heldMicro: heldMicro(account),
          holds: [...account.holds].map(([id, { call }]) => [id, call.boundMicro] as const).sort(byFirst),
          charges: account.entries
            .filter(({ kind }) => kind === "charge")
            .map(({ amountMicro, operationId }) => [operationId, amountMicro] as const)
            .sort(byFirst),
          records: [...account.records]
            .filter(([, { completed }]) => completed === undefined || completed.expiresAt > now)
            .map(([key, { completed, operationId }]) => [key, operationId, completed?.response ?? null] as const)
            .sort(byFirst)
        }
      })
  })
)

export const sqlLedgers = Effect.map(SqlClient.SqlClient, (sql): Ledgers => {
  const insertKey = (organization: OrganizationId, key: KeyId, limit: number) => sql`
    INSERT INTO api_keys (id, organization_id, name, secret_hmac, scopes, per_minute)
    VALUES (${key}, ${organization}, 'test', '', '{}', ${limit})
    ON CONFLICT (id) DO UPDATE SET organization_id = excluded.organization_id, per_minute = excluded.per_minute`

  const open = Effect.fnUntraced(function* (organization: OrganizationId, options: ModelOptions) {
    yield* sql`INSERT INTO organizations (id, name) VALUES (${organization}, 'test')`
    yield* sql`
      INSERT INTO accounts (organization_id, granted, per_minute, per_day)
      VALUES (${organization}, ${options.grantedMicro}, ${options.perMinute}, ${options.perDay})`
    yield* sql`
      INSERT INTO ledger_entries (organization_id, kind, operation_id, operation, amount, created_at)
      VALUES (${organization}, 'grant', ${`grant/${organization}`}, 'grant', ${options.grantedMicro}, now())`
    for (const [key, limit] of options.keyLimits) yield* insertKey(organization, key, limit)
  }, Effect.orDie)

  const snapshot = Effect.fnUntraced(function* (organization: OrganizationId, now: number) {
    const [row] = yield* sql<{ readonly snapshot: string }>`
      SELECT json_build_object(
        'grantedMicro', granted, 'postedMicro', posted, 'heldMicro', held,
        'holds', (SELECT coalesce(json_agg(json_build_array(operation_id, amount) ORDER BY operation_id COLLATE "C"), '[]')
          FROM holds h WHERE h.organization_id = a.organization_id),
        'charges', (SELECT coalesce(json_agg(json_build_array(operation_id, amount) ORDER BY operation_id COLLATE "C"), '[]')
          FROM ledger_entries l WHERE l.organization_id = a.organization_id AND kind = 'charge'),
        'records', (SELECT coalesce(json_agg(json_build_array(space || '/' || key, operation_id, response)
            ORDER BY (space || '/' || key) COLLATE "C"), '[]')
          FROM idempotency_records r WHERE r.organization_id = a.organization_id
           AND (expires_at IS NULL OR expires_at > ${new Date(now)}))
      )::text AS snapshot FROM accounts a WHERE organization_id = ${organization}`
    return JSON.parse(Option.getOrThrow(Option.fromNullishOr(row)).snapshot) as AccountSnapshot
  }, Effect.orDie)

  return { open, snapshot }
})

/** The store in memory, with its accounts. */
export const layerMemoryStore = AccountStore.layerMemory.pipe(Layer.provideMerge(MemoryAccounts.layer))

/** The store on a database, by the test's time. */
export const layerSqlStore = AccountStore.layer.pipe(Layer.provide(layerVirtualTime))
