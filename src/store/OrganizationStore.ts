import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { OperationId, OrganizationId } from "../domain/Ids.ts"
import { DatabaseClock } from "./Database.ts"
import { writeKey } from "./keys/SqlKeys.ts"
import { makeMemoryOrganizations } from "./organization/MemoryOrganizations.ts"
import { type NewOrganization, type OrganizationLimits, OrganizationRefused } from "./organization/Organization.ts"
import { orUnavailable, type StoreUnavailable } from "./StoreUnavailable.ts"

export { type NewOrganization, OrganizationRefused } from "./organization/Organization.ts"

type GrantOutcome = "granted" | "mismatch" | "repeated" | "too_much" | null

/** Organizations, with what operators settle about them. */
export class OrganizationStore extends Context.Service<
  OrganizationStore,
  {
    /**
     * Creates an organization with its credits and first key, all at once; does nothing when there is one of that id.
     * Answers whether it did.
     */
    create(organization: NewOrganization): Effect.Effect<boolean, StoreUnavailable>
    exists(id: OrganizationId): Effect.Effect<boolean, StoreUnavailable>
    /** Adds to the pool, once for each operation id: repeating it changes nothing. */
    grant(
      id: OrganizationId,
      operationId: OperationId,
      amountMicro: number
    ): Effect.Effect<void, OrganizationRefused | StoreUnavailable>
    /** Sets the rate limits; `null` for what the installation gives everyone. */
    setLimits(
      id: OrganizationId,
      limits: OrganizationLimits
    ): Effect.Effect<void, OrganizationRefused | StoreUnavailable>
  }
>()("sluice/store/OrganizationStore") {
  static readonly layer = Layer.effect(
    OrganizationStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* DatabaseClock

      const writeOrganization = Effect.fnUntraced(function* ({ grantedMicro, id, key, name }: NewOrganization) {
        const now = yield* clock
        const created = yield* sql`
          INSERT INTO organizations (id, name) VALUES (${id}, ${name}) ON CONFLICT DO NOTHING RETURNING id`
        if (created.length === 0) return false
        yield* sql`INSERT INTO accounts (organization_id, granted) VALUES (${id}, ${grantedMicro})`
        yield* sql`
          INSERT INTO ledger_entries (organization_id, kind, operation_id, operation, amount, created_at)
          VALUES (${id}, 'grant', ${`grant/${id}/initial`}, 'grant', ${grantedMicro}, ${now})`
        yield* writeKey(sql, { ...key, organizationId: id })
        return true
      })

      const create = Effect.fn("OrganizationStore.create")(
        (organization: NewOrganization) => sql.withTransaction(writeOrganization(organization)),
        orUnavailable
      )

      const exists = Effect.fn("OrganizationStore.exists")(function* (id: OrganizationId) {
        return (yield* sql`SELECT 1 FROM organizations WHERE id = ${id}`).length > 0
      }, orUnavailable)

      const grant = Effect.fn("OrganizationStore.grant")(function* (
        id: OrganizationId,
        operationId: OperationId,
        amountMicro: number
      ) {
        const now = yield* clock
        const [row] = yield* sql<{ readonly outcome: GrantOutcome }>`
          SELECT outcome FROM grant_credits(${id}, ${operationId}, ${amountMicro}, ${now})`
        if (row!.outcome === null) return yield* new OrganizationRefused({ reason: "not_found" })
        if (row!.outcome === "mismatch") return yield* new OrganizationRefused({ reason: "grant_mismatch" })
        if (row!.outcome === "too_much") return yield* new OrganizationRefused({ reason: "too_many_credits" })
      }, orUnavailable)

      const setLimits = Effect.fn("OrganizationStore.setLimits")(function* (
        id: OrganizationId,
        { perDay, perMinute }: OrganizationLimits
      ) {
        const updated = yield* sql`
          UPDATE accounts SET per_minute = ${perMinute}, per_day = ${perDay} WHERE organization_id = ${id} RETURNING 1`
        if (updated.length === 0) return yield* new OrganizationRefused({ reason: "not_found" })
      }, orUnavailable)

      return OrganizationStore.of({ create, exists, grant, setLimits })
    })
  )

  /** On `MemoryAccounts` and `KeyStore`, by the fiber's clock. */
  static readonly layerMemory = Layer.effect(
    OrganizationStore,
    Effect.map(makeMemoryOrganizations, OrganizationStore.of)
  )
}
