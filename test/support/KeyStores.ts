import { it, layer } from "@effect/vitest"
import { Effect, Layer, type Scope as Lifetime, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import type { Scope } from "../../src/domain/Account.ts"
import { KeyId, OrganizationId } from "../../src/domain/Ids.ts"
import { KeyStore } from "../../src/store/KeyStore.ts"
import { describeDrivers, layerVirtualTime } from "./Database.ts"

/** Organizations that exist in every store under test. */
export const acme = OrganizationId.make("acme")
export const other = OrganizationId.make("other")

/** A key that was there before, for whoever makes the first change. */
export const root = { keyId: KeyId.make("root"), organizationId: other }

export const keyOf = (id: string, scopes: ReadonlyArray<Scope> = ["invoke"], organizationId = acme) => ({
  id: KeyId.make(id),
  organizationId,
  name: `key ${id}`,
  secretHmac: new TextEncoder().encode(id.padEnd(32, ".")),
  scopes
})

export const never = Option.none<Date>()

/** The bounds of a key that ends then. */
export const until = (expiresAt: Option.Option<Date>) => ({ expiresAt, perMinute: Option.none<number>() })

/** The bounds of a key that has none. */
export const unbounded = until(never)

const putRoot = Effect.flatMap(KeyStore, (store) => store.put(keyOf("root", ["operator"], other)))

const insertOrganizations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (id, name) VALUES (${acme}, 'Acme'), (${other}, 'Other')`
})

/** Each test starts without keys but `root`. */
const forgetKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM api_keys`
})

type Run = (name: string, run: Effect.Effect<void, unknown, KeyStore | Lifetime.Scope>) => void

/**
 * Defines the same tests for the store in memory and on every database there is. Each test starts at the time 0 without
 * keys but `root`.
 */
export const describeKeyStores = (name: string, define: (test: Run) => void): void => {
  const runWith =
    <E, R>(store: Layer.Layer<KeyStore, E, R>) =>
    (run: Effect.Effect<void, unknown, KeyStore | Lifetime.Scope>) =>
      Effect.andThen(putRoot, run).pipe(Effect.scoped, Effect.provide(store), Effect.provide(TestClock.layer()))

  describe(`${name} in memory`, () =>
    define((title, run) => it.effect(title, () => runWith(KeyStore.layerMemory)(run))))

  const store = Layer.effectDiscard(forgetKeys).pipe(
    Layer.provideMerge(KeyStore.layer),
    Layer.provide(layerVirtualTime),
    Layer.fresh
  )
  describeDrivers(name, ({ layer: database }) => {
    const prepared = Layer.effectDiscard(insertOrganizations).pipe(Layer.provideMerge(database), Layer.orDie)
    layer(prepared, { excludeTestServices: true })((it) =>
      define((title, run) => it.effect(title, () => runWith(store)(run)))
    )
  })
}
