import { Data, type Option } from "effect"
import type { Scope } from "../../domain/Account.ts"
import type { KeyId, OrganizationId } from "../../domain/Ids.ts"

/** An API key at rest: its secret only as an HMAC. */
export interface KeyRecord {
  readonly id: KeyId
  readonly organizationId: OrganizationId
  readonly name: string
  readonly secretHmac: Uint8Array
  readonly scopes: ReadonlyArray<Scope>
}

/** A key that works now; `endsInMs` until it expires, null when it does not. */
export interface WorkingKey extends KeyRecord {
  readonly endsInMs: number | null
}

/** All that may be shown of a key. */
export interface KeyDetails extends Omit<KeyRecord, "secretHmac"> {
  readonly status: "active" | "expired" | "revoked"
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
  /** Calls in any 60 seconds, beside what the organization may make; null for no limit of its own. */
  readonly perMinute: number | null
  readonly rotatedFrom: KeyId | null
}

/** Who changes keys: a key that must still work when the change is made, whatever a cache says. */
export interface KeyActor {
  readonly keyId: KeyId
  readonly organizationId: OrganizationId
}

/** What a new key may not go beyond. */
export interface KeyBounds {
  readonly expiresAt: Option.Option<Date>
  readonly perMinute: Option.Option<number>
}

/** How a key takes over from another one, which goes on working for `overlapSeconds`. */
export interface KeySuccession {
  readonly expiresAt: Option.Option<Date>
  readonly overlapSeconds: number
}

/** A key that was seen at work, and how long ago. */
export interface KeyUse {
  readonly id: KeyId
  readonly agoMs: number
}

/** A change of keys that cannot be made. Nothing was written. */
export class KeyRefused extends Data.TaggedError("KeyRefused")<{
  readonly reason:
    | "actor_ended"
    | "already_rotated"
    | "expiry_past"
    | "last_admin"
    | "no_organization"
    | "not_active"
    | "not_found"
}> {}

/** Lists show this many keys at most, the latest first. */
export const MAX_LISTED_KEYS = 1000
