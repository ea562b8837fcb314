import { Effect, Option, Redacted } from "effect"
import { Caller } from "../accounts/Authentication.ts"
import { Keys, type NewKey } from "../accounts/Keys.ts"
import { Organizations } from "../accounts/Organizations.ts"
import { KeyId } from "../domain/Ids.ts"
import {
  type ApiKey,
  type CreateApiKeyRequest,
  DEFAULT_OVERLAP_SECONDS,
  type IssuedKey,
  type RevokeApiKeyRequest,
  type RotateApiKeyRequest
} from "../domain/Key.ts"
import type { OrganizationRequest } from "../domain/Organization.ts"
import type { KeyDetails } from "../store/KeyStore.ts"
import * as Metered from "./Metered.ts"

const toApiKey = (key: KeyDetails): ApiKey => ({
  id: key.id,
  organization_id: key.organizationId,
  name: key.name,
  scopes: key.scopes,
  status: key.status,
  created_at: key.createdAt.toISOString(),
  ...(key.expiresAt === null ? {} : { expires_at: key.expiresAt.toISOString() }),
  ...(key.revokedAt === null ? {} : { revoked_at: key.revokedAt.toISOString() }),
  ...(key.lastUsedAt === null ? {} : { last_used_at: key.lastUsedAt.toISOString() }),
  ...(key.perMinute === null ? {} : { per_minute: key.perMinute }),
  ...(key.rotatedFrom === null ? {} : { rotated_from: key.rotatedFrom })
})

/** Takes the secret out of its wrapping, to be shown. */
export const toIssuedKey = ({ key, secret }: NewKey): IssuedKey => ({
  secret: Redacted.value(secret),
  api_key: toApiKey(key)
})

const toDate = (time: string | undefined): Option.Option<Date> =>
  Option.map(Option.fromUndefinedOr(time), (text) => new Date(text))

/** The keys of an organization, those that ended too, the latest first. */
export const apiKeys = Metered.free({
  operation: "api_keys",
  scope: "admin",
  run: Effect.fnUntraced(function* ({ organization_id }: OrganizationRequest) {
    const organization = yield* (yield* Organizations).target(yield* Caller, organization_id)
    return (yield* (yield* Keys).list(organization)).map(toApiKey)
  })
})

/** Makes a key and shows its secret, this once. */
export const createApiKey = Metered.free({
  operation: "create_api_key",
  scope: "admin",
  run: Effect.fnUntraced(function* ({ expires_at, name, organization_id, per_minute, scopes }: CreateApiKeyRequest) {
    const caller = yield* Caller
    const organizationId = yield* (yield* Organizations).target(caller, organization_id)
    const bounds = { expiresAt: toDate(expires_at), perMinute: Option.fromUndefinedOr(per_minute) }
    return toIssuedKey(yield* (yield* Keys).create(caller, { organizationId, name, scopes, bounds }))
  })
})

/** Makes a key in place of another one, which goes on working for a while. */
export const rotateApiKey = Metered.free({
  operation: "rotate_api_key",
  scope: "admin",
  run: Effect.fnUntraced(function* ({ expires_at, id, overlap_seconds }: RotateApiKeyRequest) {
    const settings = { overlapSeconds: overlap_seconds ?? DEFAULT_OVERLAP_SECONDS, expiresAt: toDate(expires_at) }
    return toIssuedKey(yield* (yield* Keys).rotate(yield* Caller, KeyId.make(id), settings))
  })
})

/** Ends a key. */
export const revokeApiKey = Metered.free({
  operation: "revoke_api_key",
  scope: "admin",
  run: Effect.fnUntraced(function* ({ id }: RevokeApiKeyRequest) {
    return toApiKey(yield* (yield* Keys).revoke(yield* Caller, KeyId.make(id)))
  })
})
