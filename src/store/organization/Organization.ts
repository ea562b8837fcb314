import { Data } from "effect"
import type { OrganizationId } from "../../domain/Ids.ts"
import type { KeyRecord } from "../KeyStore.ts"

export interface NewOrganization {
  readonly id: OrganizationId
  readonly name: string
  readonly grantedMicro: number
  readonly key: Omit<KeyRecord, "organizationId">
}

/** What was asked of an organization cannot be done. Nothing was written. */
export class OrganizationRefused extends Data.TaggedError("OrganizationRefused")<{
  readonly reason: "exists" | "grant_mismatch" | "not_found" | "too_many_credits"
}> {}

/** Calls in any 60 seconds and per UTC day; `null` for what the installation gives everyone. */
export interface OrganizationLimits {
  readonly perMinute: number | null
  readonly perDay: number | null
}
