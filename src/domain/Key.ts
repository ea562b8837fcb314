import { Schema } from "effect"
import { Name, Scope } from "./Account.ts"
import { OrganizationIdText } from "./Organization.ts"
import { Timestamp } from "./Time.ts"

/** How long a rotated key goes on working beside its successor. */
export const DEFAULT_OVERLAP_SECONDS = 86_400
const MAX_OVERLAP_SECONDS = 30 * 86_400

const KeyIdText = Schema.String.check(Schema.isBetweenLength(1, 64))

export const KeyStatus = Schema.Literals(["active", "expired", "revoked"]).annotate({
  identifier: "KeyStatus",
  description: "Whether a key works, and if not, why."
})

export const ApiKey = Schema.Struct({
  id: Schema.String.annotate({ description: "The public part of the key." }),
  organization_id: Schema.String.annotate({ description: "The organization that the key belongs to." }),
  name: Schema.String.annotate({ description: "What the key is for." }),
  scopes: Schema.Array(Scope).annotate({ description: "What the key may do." }),
  status: KeyStatus,
  created_at: Schema.String.annotate({ description: "When the key was made, ISO 8601 in UTC." }),
  expires_at: Schema.optionalKey(Schema.String.annotate({ description: "When the key ends, ISO 8601 in UTC." })),
  revoked_at: Schema.optionalKey(Schema.String.annotate({ description: "When the key was revoked, ISO 8601 in UTC." })),
  last_used_at: Schema.optionalKey(
    Schema.String.annotate({ description: "When the key was last used, to the minute or so, ISO 8601 in UTC." })
  ),
  per_minute: Schema.optionalKey(
    Schema.Int.annotate({ description: "Calls that the key may make in any 60 seconds, of those of its organization." })
  ),
  rotated_from: Schema.optionalKey(Schema.String.annotate({ description: "The key that this one takes over from." }))
}).annotate({ identifier: "ApiKey", description: "An API key without its secret." })
export type ApiKey = typeof ApiKey.Type

export const IssuedKey = Schema.Struct({
  secret: Schema.String.annotate({ description: "The key as clients send it. It is shown this once and never again." }),
  api_key: ApiKey
}).annotate({ identifier: "IssuedKey", description: "A new API key." })
export type IssuedKey = typeof IssuedKey.Type

const expiresAt = Schema.optionalKey(
  Timestamp.annotate({ description: "When the key ends, ISO 8601 with a zone; without it a key does not end." })
)

export const CreateApiKeyRequest = Schema.Struct({
  name: Name.annotate({ description: "What the key is for." }),
  scopes: Schema.Array(Scope)
    .check(Schema.isMinLength(1))
    .annotate({ description: "What the key may do; no more than the key that makes it." }),
  expires_at: expiresAt,
  per_minute: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 })).annotate({
      description: "Calls that the key may make in any 60 seconds; the organization's limit holds besides."
    })
  ),
  organization_id: Schema.optionalKey(OrganizationIdText)
}).annotate({ identifier: "CreateApiKeyRequest", description: "A key to make." })
export type CreateApiKeyRequest = typeof CreateApiKeyRequest.Type

export const RotateApiKeyRequest = Schema.Struct({
  id: KeyIdText.annotate({ description: "The key to replace." }),
  overlap_seconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MAX_OVERLAP_SECONDS })).annotate({
      description: "How long the old key goes on working, at most 30 days; 86,400 (a day) without it."
    })
  ),
  expires_at: Schema.optionalKey(
    Timestamp.annotate({ description: "When the new key ends; without it, when the old one would have." })
  )
}).annotate({ identifier: "RotateApiKeyRequest", description: "A key to replace by a new one." })
export type RotateApiKeyRequest = typeof RotateApiKeyRequest.Type

export const RevokeApiKeyRequest = Schema.Struct({
  id: KeyIdText.annotate({ description: "The key to revoke." })
}).annotate({ identifier: "RevokeApiKeyRequest", description: "A key to revoke." })
export type RevokeApiKeyRequest = typeof RevokeApiKeyRequest.Type

export const NewOrganization = Schema.Struct({
  id: Schema.String.annotate({ description: "Its id." }),
  name: Schema.String.annotate({ description: "What it is called." }),
  ...IssuedKey.fields
}).annotate({
  identifier: "NewOrganization",
  description: "An organization and its first key, which may do everything within it."
})
export type NewOrganization = typeof NewOrganization.Type
