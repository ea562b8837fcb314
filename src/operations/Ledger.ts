import { DateTime, Effect } from "effect"
import { Caller } from "../accounts/Authentication.ts"
import { Organizations } from "../accounts/Organizations.ts"
import {
  DEFAULT_PAGE_SIZE,
  fromCursor,
  type LedgerConnection,
  type LedgerRequest,
  toCursor,
  type UsageReport,
  type UsageRequest
} from "../domain/Ledger.ts"
import { toCredits } from "../domain/Tariff.ts"
import { periodEnd, periodStart, utcDay } from "../domain/Time.ts"
import { type LedgerRecord, LedgerStore } from "../store/LedgerStore.ts"
import * as Metered from "./Metered.ts"

const DEFAULT_USAGE_DAYS = 30

const withModel = (model: string | null) => (model === null ? {} : { model })

const toEdge = ({ amountMicro, createdAt, id, kind, model, operation, operationId }: LedgerRecord) => ({
  cursor: toCursor(id),
  node: {
    id: String(id),
    kind,
    operation,
    ...withModel(model),
    operation_id: operationId,
    amount: toCredits(amountMicro),
    created_at: createdAt.toISOString()
  }
})

/** A page of an organization's ledger, the newest entry first. */
export const ledger = Metered.free({
  operation: "ledger",
  scope: "admin",
  run: Effect.fnUntraced(function* ({ of, page }: { readonly of: string; readonly page: LedgerRequest }) {
    const { after, first = DEFAULT_PAGE_SIZE, from, kind, operation, to } = page
    const organization = yield* (yield* Organizations).target(yield* Caller, of)
    const filter = {
      kind: kind ?? null,
      operation: operation ?? null,
      from: from === undefined ? null : periodStart(from),
      to: to === undefined ? null : periodEnd(to)
    }
    const before = after === undefined ? null : fromCursor(after)
    // One more than the page holds tells whether another page follows.
    const records = yield* (yield* LedgerStore).page(organization, filter, before, first + 1)
    const edges = records.slice(0, first).map(toEdge)
    return {
      edges,
      page_info: {
        has_next_page: records.length > first,
        has_previous_page: after !== undefined,
        ...(edges.length === 0 ? {} : { start_cursor: edges[0]!.cursor, end_cursor: edges.at(-1)!.cursor })
      }
    } satisfies LedgerConnection
  })
})

/** What an organization used, by day, operation and model. */
export const usage = Metered.free({
  operation: "usage",
  scope: "admin",
  run: Effect.fnUntraced(function* ({ from, organization_id, to }: UsageRequest) {
    const organization = yield* (yield* Organizations).target(yield* Caller, organization_id)
    const end = periodEnd(to ?? utcDay(DateTime.toDateUtc(yield* DateTime.now)))
    const start = from === undefined ? new Date(end.getTime() - DEFAULT_USAGE_DAYS * 86_400_000) : periodStart(from)
    const records = yield* (yield* LedgerStore).usage(organization, start, end)
    return {
      organization_id: organization,
      from: start.toISOString(),
      to: end.toISOString(),
      charges: records.reduce((sum, { charges }) => sum + charges, 0),
      credits_used: toCredits(records.reduce((sum, { usedMicro }) => sum + usedMicro, 0)),
      rows: records.map(({ charges, day, model, operation, usedMicro }) => ({
        day,
        operation,
        ...withModel(model),
        charges,
        credits_used: toCredits(usedMicro)
      }))
    } satisfies UsageReport
  })
})
