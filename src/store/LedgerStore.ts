import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { OrganizationId } from "../domain/Ids.ts"
import type { LedgerFilter, LedgerRecord, UsageRecord } from "./ledger/LedgerRecord.ts"
import { makeMemoryLedger } from "./ledger/MemoryLedger.ts"
import { MemoryAccounts } from "./MemoryAccounts.ts"
import { orUnavailable, type StoreUnavailable } from "./StoreUnavailable.ts"

export type { LedgerFilter, LedgerRecord, UsageRecord } from "./ledger/LedgerRecord.ts"

/** Reads what `AccountStore` writes into the ledger. */
export class LedgerStore extends Context.Service<
  LedgerStore,
  {
    /** The newest entries first, at most `limit`, of those older than the entry `before`. */
    page(
      organization: OrganizationId,
      filter: LedgerFilter,
      before: number | null,
      limit: number
    ): Effect.Effect<ReadonlyArray<LedgerRecord>, StoreUnavailable>
    /** Charges of a period, added up, the latest day first. */
    usage(
      organization: OrganizationId,
      from: Date,
      to: Date
    ): Effect.Effect<ReadonlyArray<UsageRecord>, StoreUnavailable>
  }
>()("sluice/store/LedgerStore") {
  static readonly layer = Layer.effect(
    LedgerStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const page = Effect.fn("LedgerStore.page")(function* (
        organization: OrganizationId,
        { from, kind, operation, to }: LedgerFilter,
        before: number | null,
        limit: number
      ) {
        const conditions = [
          sql`organization_id = ${organization}`,
          ...(before === null ? [] : [sql`id < ${before}`]),
          ...(kind === null ? [] : [sql`kind = ${kind}`]),
          ...(operation === null ? [] : [sql`operation = ${operation}`]),
          ...(from === null ? [] : [sql`created_at >= ${from}`]),
          ...(to === null ? [] : [sql`created_at < ${to}`])
        ]
        return yield* sql<LedgerRecord>`
          SELECT id, kind, operation, model, operation_id AS "operationId", amount AS "amountMicro",
                 created_at AS "createdAt"
            FROM ledger_entries WHERE ${sql.and(conditions)} ORDER BY id DESC LIMIT ${limit}`
      }, orUnavailable)

      const usage = Effect.fn("LedgerStore.usage")(function* (organization: OrganizationId, from: Date, to: Date) {
        return yield* sql<UsageRecord>`
          SELECT (created_at AT TIME ZONE 'UTC')::date::text AS day, operation, model, count(*) AS charges,
                 sum(amount)::bigint AS "usedMicro"
            FROM ledger_entries
           WHERE organization_id = ${organization} AND kind = 'charge' AND created_at >= ${from} AND created_at < ${to}
           GROUP BY 1, 2, 3 ORDER BY 1 DESC, 2, 3`
      }, orUnavailable)

      return LedgerStore.of({ page, usage })
    })
  )

  /** On `MemoryAccounts`. */
  static readonly layerMemory = Layer.effect(LedgerStore, Effect.map(MemoryAccounts, makeMemoryLedger))
}
