import { Effect } from "effect"
import type { OrganizationId } from "../../domain/Ids.ts"
import type { MemoryAccounts, MemoryEntry } from "../MemoryAccounts.ts"
import type { LedgerFilter, LedgerRecord, UsageRecord } from "./LedgerRecord.ts"

const isWithin = ({ createdAt }: MemoryEntry, from: Date | null, to: Date | null): boolean =>
  (from === null || createdAt >= from.getTime()) && (to === null || createdAt < to.getTime())

const toRecord = (entry: MemoryEntry, index: number): LedgerRecord => ({
  id: index + 1,
  kind: entry.kind,
  operation: entry.operation,
  model: entry.model ?? null,
  operationId: entry.operationId,
  amountMicro: entry.amountMicro,
  createdAt: new Date(entry.createdAt)
})

const utcDay = ({ createdAt }: MemoryEntry): string => new Date(createdAt).toISOString().slice(0, 10)

/** In the order of the database: the latest day first, then by operation and model, those without a model last. */
const byDay = (one: UsageRecord, other: UsageRecord): number =>
  other.day.localeCompare(one.day) ||
  one.operation.localeCompare(other.operation) ||
  (one.model ?? "\uFFFF").localeCompare(other.model ?? "\uFFFF")

const addUp = (entries: ReadonlyArray<MemoryEntry>): ReadonlyArray<UsageRecord> => {
  const rows = new Map<string, UsageRecord>()
  for (const entry of entries) {
    const { amountMicro, model = null, operation } = entry
    const day = utcDay(entry)
    const key = JSON.stringify([day, operation, model])
    const { charges, usedMicro } = rows.get(key) ?? { charges: 0, usedMicro: 0 }
    rows.set(key, { day, operation, model, charges: charges + 1, usedMicro: usedMicro + amountMicro })
  }
  return [...rows.values()].sort(byDay)
}

/** The ledger of accounts in memory. */
export const makeMemoryLedger = (accounts: MemoryAccounts["Service"]) => {
  const entriesOf = (organization: OrganizationId) => accounts.find(organization)?.entries ?? []
  return {
    page: (
      organization: OrganizationId,
      { from, kind, operation, to }: LedgerFilter,
      before: number | null,
      limit: number
    ) =>
      Effect.sync(() =>
        entriesOf(organization)
          .map((entry, index) => ({ entry, record: toRecord(entry, index) }))
          .filter(({ entry, record }) => (before === null || record.id < before) && isWithin(entry, from, to))
          .map(({ record }) => record)
          .filter((record) => (kind ?? record.kind) === record.kind)
          .filter((record) => (operation ?? record.operation) === record.operation)
          .reverse()
          .slice(0, limit)
      ),
    usage: (organization: OrganizationId, from: Date, to: Date) =>
      Effect.sync(() =>
        addUp(entriesOf(organization).filter((entry) => entry.kind === "charge" && isWithin(entry, from, to)))
      )
  }
}
