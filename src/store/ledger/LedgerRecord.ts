import type { OperationId } from "../../domain/Ids.ts"
import type { LedgerKind } from "../../domain/Ledger.ts"

/** An entry as it was written, once and for ever. */
export interface LedgerRecord {
  /** Grows with time within an organization. */
  readonly id: number
  readonly kind: LedgerKind
  readonly operation: string
  readonly model: string | null
  readonly operationId: OperationId
  readonly amountMicro: number
  readonly createdAt: Date
}

/** Which entries; `null` for all of them. Of the period `from` belongs to it and `to` does not. */
export interface LedgerFilter {
  readonly kind: LedgerKind | null
  readonly operation: string | null
  readonly from: Date | null
  readonly to: Date | null
}

/** What the calls of one operation by one model cost on one UTC day. */
export interface UsageRecord {
  readonly day: string
  readonly operation: string
  readonly model: string | null
  readonly charges: number
  readonly usedMicro: number
}
