import { Option } from "effect"
import type { Quota, RateLimitState } from "../../domain/RateLimit.ts"
import { narrower } from "../../domain/RateLimit.ts"
import type { Admission, AdmissionOutcome, Batch, BatchAnswer } from "../AccountBatch.ts"

/** How much of its limits an organization has used, as the database tells it. */
export interface UsageRow {
  readonly per_minute: number
  readonly minute_used: number
  readonly minute_reset: Date
  readonly per_day: number
  readonly day_used: number
  readonly day_reset: Date
  readonly measured_at: Date
}

/** The same, and how much a key has used of its own limit, if it has one. */
export interface KeyUsageRow extends UsageRow {
  readonly key_per_minute: number | null
  readonly key_used: number | null
  readonly key_reset: Date | null
}

/** A row of `commit_batch`. */
export type BatchRow =
  | { readonly call: "settle"; readonly place: number; readonly charged: number | null }
  | (KeyUsageRow & {
      readonly call: "admit"
      readonly place: number
      readonly outcome: AdmissionOutcome
      readonly available: number
    })

const quota = (limit: number, used: number, reset: Date, now: Date): Quota => ({
  limit,
  remaining: Math.max(0, limit - used),
  resetSeconds: (reset.getTime() - now.getTime()) / 1000
})

/** The limits' state as callers see it. */
export const toRateLimitState = (row: UsageRow & Partial<KeyUsageRow>): RateLimitState => {
  const organization = quota(row.per_minute, row.minute_used, row.minute_reset, row.measured_at)
  const key =
    row.key_per_minute == null || row.key_used == null || row.key_reset == null
      ? organization
      : quota(row.key_per_minute, row.key_used, row.key_reset, row.measured_at)
  return {
    minute: narrower(organization, key),
    day: quota(row.per_day, row.day_used, row.day_reset, row.measured_at)
  }
}

/** Puts the rows in the order of the batch that they answer. */
export const toBatchAnswer = (batch: Batch, rows: ReadonlyArray<BatchRow>): BatchAnswer => {
  const settlements = batch.settlements.map(() => Option.none<number>())
  const admissions = new Array<Admission>(batch.admissions.length)
  for (const row of rows) {
    if (row.call === "settle") settlements[row.place - 1] = Option.fromNullishOr(row.charged)
    else {
      admissions[row.place - 1] = {
        outcome: row.outcome,
        rateLimits: toRateLimitState(row),
        availableMicro: row.available
      }
    }
  }
  return { settlements, admissions }
}
