import { Schema } from "effect"
import { CreditBalance, Name } from "./Account.ts"
import { MICRO_PER_CREDIT } from "./Tariff.ts"

const ORGANIZATION_ID = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9_-]{0,63}$/, {
    expected: "an organization id of 1 to 64 lowercase letters, digits, '_' or '-'"
  })
)

/** An organization in a request; another one than the caller's own takes the scope `operator`. */
export const OrganizationIdText = ORGANIZATION_ID.annotate({
  description: "The organization; the key's own without it. Another one takes the scope `operator`."
})

export const OrganizationRequest = Schema.Struct({
  organization_id: Schema.optionalKey(OrganizationIdText)
}).annotate({ identifier: "OrganizationRequest", description: "Which organization." })
export type OrganizationRequest = typeof OrganizationRequest.Type

const MAX_CREDITS = 1_000_000_000

const isWholeMicro = (credits: number): boolean =>
  Math.abs(credits * MICRO_PER_CREDIT - Math.round(credits * MICRO_PER_CREDIT)) < 1e-3

const Amount = Schema.Finite.check(
  Schema.makeFilter((credits: number) => credits >= 0 && credits <= MAX_CREDITS && isWholeMicro(credits), {
    expected: "0 to 1,000,000,000 credits with at most 6 decimals"
  })
)

/** The pool of an organization, named. */
export const OrganizationCredits = Schema.Struct({
  organization_id: Schema.String.annotate({ description: "The organization whose pool it is." }),
  ...CreditBalance.fields
}).annotate({ identifier: "Credits", description: "The credit pool of an organization, and its ledger." })
export type OrganizationCredits = typeof OrganizationCredits.Type

export const CreateOrganizationRequest = Schema.Struct({
  id: Schema.optionalKey(
    ORGANIZATION_ID.annotate({ description: "Its id: lowercase letters, digits, `_` and `-`. Made up without it." })
  ),
  name: Name.annotate({ description: "What to call it." }),
  credits: Schema.optionalKey(
    Amount.annotate({ description: "Credits to start with; without it what `SLUICE_CREDITS` says." })
  )
}).annotate({ identifier: "CreateOrganizationRequest", description: "An organization to make." })
export type CreateOrganizationRequest = typeof CreateOrganizationRequest.Type

export const GrantCreditsRequest = Schema.Struct({
  organization_id: ORGANIZATION_ID.annotate({ description: "Who gets them." }),
  credits: Amount.annotate({ description: "How many, with at most 6 decimals." }),
  id: Schema.String.check(
    Schema.isPattern(/^[\x21-\x7e]{1,255}$/, { expected: "1 to 255 visible ASCII characters" })
  ).annotate({ description: "Names this grant, an invoice for example: the same id again grants nothing more." })
}).annotate({ identifier: "GrantCreditsRequest", description: "Credits to add to a pool." })
export type GrantCreditsRequest = typeof GrantCreditsRequest.Type

const limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))

export const SetLimitsRequest = Schema.Struct({
  organization_id: ORGANIZATION_ID.annotate({ description: "Whose limits." }),
  per_minute: Schema.optionalKey(
    limit.annotate({ description: "Calls in any 60 seconds; without it what this installation gives everyone." })
  ),
  per_day: Schema.optionalKey(
    limit.annotate({ description: "Calls per UTC day; without it what this installation gives everyone." })
  )
}).annotate({ identifier: "SetLimitsRequest", description: "The rate limits that an organization is to have." })
export type SetLimitsRequest = typeof SetLimitsRequest.Type

export const OrganizationLimits = Schema.Struct({
  organization_id: Schema.String.annotate({ description: "Whose limits." }),
  per_minute: Schema.Int.annotate({ description: "Calls in any 60 seconds." }),
  per_day: Schema.Int.annotate({ description: "Calls per UTC day." })
}).annotate({ identifier: "OrganizationLimits", description: "How many calls an organization may make." })
export type OrganizationLimits = typeof OrganizationLimits.Type
