import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { Scope } from "../domain/Account.ts"
import type { KeyId, OrganizationId } from "../domain/Ids.ts"
import { DatabaseClock } from "./Database.ts"
import { orUnavailable, type StoreUnavailable } from "./StoreUnavailable.ts"

/** An API key at rest: its secret only as an HMAC. */
export interface KeyRecord {
  readonly id: KeyId
  readonly organizationId: OrganizationId
  readonly name: string
  readonly secretHmac: Uint8Array
  readonly scopes: ReadonlyArray<Scope>
}

export interface NewOrganization {
  readonly id: OrganizationId
  readonly name: string
  readonly grantedMicro: number
  readonly key: Omit<KeyRecord, "organizationId">
}

/** Organizations and their keys. */
export class OrganizationStore extends Context.Service<
  OrganizationStore,
  {
    /**
     * Creates an organization with its credits and first key, all at once; does nothing when there is one of that id.
     * Answers whether it did.
     */
    create(organization: NewOrganization): Effect.Effect<boolean, StoreUnavailable>
    /** Stores a key; one of the same id is replaced. */
    putKey(key: KeyRecord): Effect.Effect<void, StoreUnavailable>
    /** The key of that id, unless it is expired or revoked. */
    findKey(id: KeyId): Effect.Effect<Option.Option<KeyRecord>, StoreUnavailable>
  }
>()("sluice/store/OrganizationStore") {
  static readonly layer = Layer.effect(
    OrganizationStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* DatabaseClock

      const writeKey = (key: KeyRecord) => sql`
        INSERT INTO api_keys (id, organization_id, name, secret_hmac, scopes)
        VALUES (${key.id}, ${key.organizationId}, ${key.name}, ${key.secretHmac}, ${key.scopes})
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, secret_hmac = excluded.secret_hmac,
          scopes = excluded.scopes, revoked_at = NULL, expires_at = NULL`

      const writeOrganization = Effect.fnUntraced(function* ({ grantedMicro, id, key, name }: NewOrganization) {
        const now = yield* clock
        const created = yield* sql`
          INSERT INTO organizations (id, name) VALUES (${id}, ${name}) ON CONFLICT DO NOTHING RETURNING id`
        if (created.length === 0) return false
        yield* sql`INSERT INTO accounts (organization_id, granted) VALUES (${id}, ${grantedMicro})`
        yield* sql`
          INSERT INTO ledger_entries (organization_id, kind, operation_id, operation, amount, created_at)
          VALUES (${id}, 'grant', ${`grant/${id}/initial`}, 'grant', ${grantedMicro}, ${now})`
        yield* writeKey({ ...key, organizationId: id })
        return true
      })

      const create = Effect.fn("OrganizationStore.create")(
        (organization: NewOrganization) => sql.withTransaction(writeOrganization(organization)),
        orUnavailable
      )

      const putKey = Effect.fn("OrganizationStore.putKey")(
        (key: KeyRecord) => Effect.asVoid(writeKey(key)),
        orUnavailable
      )

      const findKey = Effect.fn("OrganizationStore.findKey")(function* (id: KeyId) {
        const now = yield* clock
        const rows = yield* sql<KeyRecord>`
          SELECT id, organization_id AS "organizationId", name, secret_hmac AS "secretHmac", scopes
            FROM api_keys
           WHERE id = ${id} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`
        return Option.fromNullishOr(rows[0])
      }, orUnavailable)

      return OrganizationStore.of({ create, putKey, findKey })
    })
  )
}
