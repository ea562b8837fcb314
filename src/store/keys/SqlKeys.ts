import { Effect, Option } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { KeyId, OrganizationId } from "../../domain/Ids.ts"
import type { KeyStore } from "../KeyStore.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import {
  type KeyActor,
  type KeyBounds,
  type KeyDetails,
  type KeyRecord,
  KeyRefused,
  type KeySuccession,
  type KeyUse,
  MAX_LISTED_KEYS,
  type WorkingKey
} from "./KeyRecord.ts"

/** Writes a key that works for ever in place of one of the same id. */
export const writeKey = (sql: SqlClient.SqlClient, key: KeyRecord) => sql`
  INSERT INTO api_keys (id, organization_id, name, secret_hmac, scopes)
  VALUES (${key.id}, ${key.organizationId}, ${key.name}, ${key.secretHmac}, ${key.scopes})
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, secret_hmac = excluded.secret_hmac,
    scopes = excluded.scopes, revoked_at = NULL, expires_at = NULL, per_minute = NULL`

export const makeSqlKeys = (
  sql: SqlClient.SqlClient,
  clock: Effect.Effect<Statement.Fragment>
): KeyStore["Service"] => {
  const columns = Effect.map(
    clock,
    (now) => sql`
      id, organization_id AS "organizationId", name, scopes, created_at AS "createdAt", expires_at AS "expiresAt",
      revoked_at AS "revokedAt", last_used_at AS "lastUsedAt", per_minute AS "perMinute", rotated_from AS "rotatedFrom",
      CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at <= ${now} THEN 'expired' ELSE 'active' END
        AS status`
  )

  const insert = Effect.fnUntraced(function* (
    key: KeyRecord,
    terms: Pick<KeyDetails, "expiresAt" | "perMinute" | "rotatedFrom">
  ) {
    const now = yield* clock
    const [row] = yield* sql<KeyDetails>`
      INSERT INTO api_keys (id, organization_id, name, secret_hmac, scopes, created_at, expires_at, per_minute,
        rotated_from)
      VALUES (${key.id}, ${key.organizationId}, ${key.name}, ${key.secretHmac}, ${key.scopes}, ${now},
        ${terms.expiresAt}, ${terms.perMinute}, ${terms.rotatedFrom})
      RETURNING ${yield* columns}`
    if (row!.status !== "active") return yield* new KeyRefused({ reason: "expiry_past" })
    return row!
  })

  /** Puts changes of an organization's keys in line, and sees to it that whoever makes one still may. */
  const change = <A, E>(organization: OrganizationId, actor: KeyActor, effect: Effect.Effect<A, E>) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const now = yield* clock
        const locked = yield* sql<{ readonly id: string }>`
          SELECT id FROM organizations WHERE id IN (${organization}, ${actor.organizationId})
           ORDER BY id FOR NO KEY UPDATE`
        if (!locked.some(({ id }) => id === organization)) return yield* new KeyRefused({ reason: "no_organization" })
        const working = yield* sql`
          SELECT 1 FROM api_keys
           WHERE id = ${actor.keyId} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`
        if (working.length === 0) return yield* new KeyRefused({ reason: "actor_ended" })
        return yield* effect
      })
    )

  const find = Effect.fn("KeyStore.find")(function* (id: KeyId) {
    const now = yield* clock
    const rows = yield* sql<WorkingKey>`
      SELECT id, organization_id AS "organizationId", name, secret_hmac AS "secretHmac", scopes,
             (extract(epoch FROM expires_at - ${now}) * 1000)::float8 AS "endsInMs"
        FROM api_keys
       WHERE id = ${id} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`
    return Option.fromNullishOr(rows[0])
  }, orUnavailable)

  const details = Effect.fn("KeyStore.details")(function* (id: KeyId) {
    const rows = yield* sql<KeyDetails>`SELECT ${yield* columns} FROM api_keys WHERE id = ${id}`
    return Option.fromNullishOr(rows[0])
  }, orUnavailable)

  const list = Effect.fn("KeyStore.list")(function* (organization: OrganizationId) {
    return yield* sql<KeyDetails>`
      SELECT ${yield* columns} FROM api_keys WHERE organization_id = ${organization}
       ORDER BY created_at DESC, id LIMIT ${MAX_LISTED_KEYS}`
  }, orUnavailable)

  const create = Effect.fn("KeyStore.create")(
    (key: KeyRecord, { expiresAt, perMinute }: KeyBounds, actor: KeyActor) => {
      const terms = {
        expiresAt: Option.getOrNull(expiresAt),
        perMinute: Option.getOrNull(perMinute),
        rotatedFrom: null
      }
      return change(key.organizationId, actor, insert(key, terms))
    },
    orUnavailable
  )

  const succeed = Effect.fnUntraced(function* (
    from: KeyId,
    key: KeyRecord,
    { expiresAt, overlapSeconds }: KeySuccession
  ) {
    const now = yield* clock
    const [old] = yield* sql<KeyDetails & { readonly rotated: boolean }>`
      SELECT ${yield* columns}, EXISTS (SELECT 1 FROM api_keys WHERE rotated_from = ${from}) AS rotated
        FROM api_keys WHERE id = ${from}`
    if (old === undefined) return yield* new KeyRefused({ reason: "not_found" })
    if (old.rotated) return yield* new KeyRefused({ reason: "already_rotated" })
    if (old.status !== "active") return yield* new KeyRefused({ reason: "not_active" })
    const created = yield* insert(key, {
      expiresAt: Option.getOrElse(expiresAt, () => old.expiresAt),
      perMinute: old.perMinute,
      rotatedFrom: from
    })
    yield* sql`
      UPDATE api_keys SET expires_at = least(expires_at, ${now} + make_interval(secs => ${overlapSeconds}))
       WHERE id = ${from}`
    return created
  })

  const rotate = Effect.fn("KeyStore.rotate")(
    (from: KeyId, key: KeyRecord, succession: KeySuccession, actor: KeyActor) =>
      change(key.organizationId, actor, succeed(from, key, succession)),
    orUnavailable
  )

  /** Whether another key can manage the organization's keys, for as long as this one could. */
  const hasOtherManager = Effect.fnUntraced(function* (id: KeyId, organization: OrganizationId) {
    const now = yield* clock
    const others = yield* sql`
      SELECT 1 FROM api_keys AS other, api_keys AS own
       WHERE own.id = ${id} AND other.organization_id = ${organization} AND other.id <> own.id
         AND other.scopes && ARRAY['admin', 'operator'] AND other.revoked_at IS NULL
         AND coalesce(other.expires_at, 'infinity') > ${now}
         AND coalesce(other.expires_at, 'infinity') >= coalesce(own.expires_at, 'infinity')
       LIMIT 1`
    return others.length > 0
  })

  const end = Effect.fnUntraced(function* (
    { id, organizationId }: Pick<KeyRecord, "id" | "organizationId">,
    actor: KeyActor
  ) {
    if (id === actor.keyId && !(yield* hasOtherManager(id, organizationId))) {
      return yield* new KeyRefused({ reason: "last_admin" })
    }
    const now = yield* clock
    const [row] = yield* sql<KeyDetails>`
      UPDATE api_keys SET revoked_at = coalesce(revoked_at, ${now}) WHERE id = ${id} RETURNING ${yield* columns}`
    return row === undefined ? yield* new KeyRefused({ reason: "not_found" }) : row
  })

  const revoke = Effect.fn("KeyStore.revoke")(
    (key: Pick<KeyRecord, "id" | "organizationId">, actor: KeyActor) =>
      change(key.organizationId, actor, end(key, actor)),
    orUnavailable
  )

  const put = Effect.fn("KeyStore.put")((key: KeyRecord) => Effect.asVoid(writeKey(sql, key)), orUnavailable)

  // Replicas note the same keys at the same time; none of them waits for another.
  const noteUse = Effect.fn("KeyStore.noteUse")(function* (uses: ReadonlyArray<KeyUse>) {
    const now = yield* clock
    yield* sql`
      WITH uses AS (
        SELECT id, ${now} - make_interval(secs => ago_ms / 1000) AS used_at
          FROM unnest(${uses.map(({ id }) => id)}::text[], ${uses.map(({ agoMs }) => agoMs)}::float8[]) AS use (id, ago_ms)
      ), due AS (
        SELECT api_keys.id, used_at FROM api_keys JOIN uses USING (id)
         WHERE last_used_at IS NULL OR last_used_at <= used_at - interval '1 minute'
           FOR NO KEY UPDATE OF api_keys SKIP LOCKED
      )
      UPDATE api_keys SET last_used_at = due.used_at FROM due WHERE api_keys.id = due.id`
  }, orUnavailable)

  return { find, put, details, list, create, rotate, revoke, noteUse }
}
