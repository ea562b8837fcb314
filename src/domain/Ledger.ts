import { Schema } from "effect"
import { OrganizationIdText } from "./Organization.ts"
import { PeriodEnd } from "./Time.ts"

export const DEFAULT_PAGE_SIZE = 50
const MAX_PAGE_SIZE = 500

/** A cursor names the entry after which a page begins. Clients take it as it is: what is in it may change. */
const CURSOR = /^e([1-9][0-9]{0,14})$/

export const toCursor = (entry: number): string => `e${entry}`

/** The entry that a valid cursor names. */
export const fromCursor = (cursor: string): number => Number(CURSOR.exec(cursor)?.[1])

export const LedgerKind = Schema.Literals(["grant", "charge"]).annotate({
  identifier: "LedgerKind",
  description: "Whether credits came or went."
})
export type LedgerKind = typeof LedgerKind.Type

export const LedgerRequest = Schema.Struct({
  first: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_PAGE_SIZE })).annotate({
      description: "Entries per page, at most 500; 50 without it."
    })
  ),
  after: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(CURSOR, { expected: "a cursor of this list" })).annotate({
      description: "Begins after the entry with this cursor."
    })
  ),
  kind: Schema.optionalKey(LedgerKind),
  operation: Schema.optionalKey(
    Schema.String.check(Schema.isBetweenLength(1, 64)).annotate({ description: "Only entries of this operation." })
  ),
  from: Schema.optionalKey(PeriodEnd.annotate({ description: "Only entries from this UTC day or time on." })),
  to: Schema.optionalKey(
    PeriodEnd.annotate({ description: "Only entries up to the end of this UTC day, or before this time." })
  )
}).annotate({ identifier: "LedgerRequest", description: "Which entries of the ledger." })
export type LedgerRequest = typeof LedgerRequest.Type

const ChargedModel = Schema.optionalKey(
  Schema.String.annotate({ description: "The model that was used, as `vendor/model`, where the charge was for one." })
)

export const LedgerEntry = Schema.Struct({
  id: Schema.String.annotate({ description: "Names the entry." }),
  kind: LedgerKind,
  operation: Schema.String.annotate({ description: "What was charged for; `grant` for a grant." }),
  model: ChargedModel,
  operation_id: Schema.String.annotate({ description: "The call or the grant; there is one entry for each." }),
  amount: Schema.Finite.annotate({ description: "Credits, never negative: the kind tells whether they came or went." }),
  created_at: Schema.String.annotate({ description: "When it was written, ISO 8601 in UTC." })
}).annotate({ identifier: "LedgerEntry", description: "One grant or charge. Entries are never changed." })
export type LedgerEntry = typeof LedgerEntry.Type

export const LedgerConnection = Schema.Struct({
  edges: Schema.Array(
    Schema.Struct({
      node: LedgerEntry,
      cursor: Schema.String.annotate({ description: "For `after`." })
    }).annotate({ identifier: "LedgerEdge", description: "An entry and its place in the list." })
  ).annotate({ description: "The entries of the page." }),
  page_info: Schema.Struct({
    has_next_page: Schema.Boolean.annotate({ description: "Whether older entries follow." }),
    has_previous_page: Schema.Boolean.annotate({ description: "Whether the page began after a cursor." }),
    start_cursor: Schema.optionalKey(Schema.String.annotate({ description: "Cursor of the page's first entry." })),
    end_cursor: Schema.optionalKey(Schema.String.annotate({ description: "Cursor of the page's last entry." }))
  }).annotate({ identifier: "PageInfo", description: "Where a page stands in its list." })
}).annotate({ identifier: "LedgerConnection", description: "A page of the ledger, the newest entry first." })
export type LedgerConnection = typeof LedgerConnection.Type

export const UsageRequest = Schema.Struct({
  from: Schema.optionalKey(
    PeriodEnd.annotate({ description: "First UTC day, or a time; 30 days with today without it." })
  ),
  to: Schema.optionalKey(PeriodEnd.annotate({ description: "Last UTC day, or a time; today without it." })),
  organization_id: Schema.optionalKey(OrganizationIdText)
}).annotate({ identifier: "UsageRequest", description: "The period of a report." })
export type UsageRequest = typeof UsageRequest.Type

export const UsageReport = Schema.Struct({
  organization_id: Schema.String.annotate({ description: "The organization whose usage it is." }),
  from: Schema.String.annotate({ description: "When the period begins, ISO 8601 in UTC." }),
  to: Schema.String.annotate({ description: "Before when the period ends, ISO 8601 in UTC." }),
  charges: Schema.Int.annotate({ description: "Calls that were charged." }),
  credits_used: Schema.Finite.annotate({ description: "Credits that they cost." }),
  rows: Schema.Array(
    Schema.Struct({
      day: Schema.String.annotate({ description: "The UTC day, such as 2027-01-31." }),
      operation: Schema.String.annotate({ description: "What was charged for." }),
      model: ChargedModel,
      charges: Schema.Int.annotate({ description: "Calls that were charged." }),
      credits_used: Schema.Finite.annotate({ description: "Credits that they cost." })
    }).annotate({ identifier: "UsageRow", description: "What one operation by one model cost on one day." })
  ).annotate({ description: "By day, the latest first, operation and model." })
}).annotate({ identifier: "UsageReport", description: "What an organization used in a period." })
export type UsageReport = typeof UsageReport.Type
