import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import type { Scope } from "../../src/domain/Account.ts"
import { KeyId, OrganizationId } from "../../src/domain/Ids.ts"
import { KeyStore } from "../../src/store/KeyStore.ts"
import { describeDrivers, layerVirtualTime, type TestDriver } from "./Database.ts"

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

const putRoot = Effect.flatMap(KeyStore, (store) => store.put(keyOf("root", ["operator"], other)))

const insertOrganizations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (id, name) VALUES (${acme}, 'Acme'), (${other}, 'Other')`
})

const withRoot = <E, R>(layer: Layer.Layer<KeyStore, E, R>) =>
  Layer.effectDiscard(putRoot).pipe(Layer.provideMerge(layer), Layer.orDie)

const layerOn = (driver: TestDriver) =>
  withRoot(
    KeyStore.layer.pipe(
      Layer.provide(layerVirtualTime),
      Layer.provideMerge(Layer.effectDiscard(insertOrganizations).pipe(Layer.provideMerge(driver.layer)))
    )
  )

/** Defines the same tests for the store in memory and on every database there is; each test starts without keys but `root`. */
export const describeKeyStores = (name: string, define: (store: Layer.Layer<KeyStore>) => void): void => {
  describe(`${name} in memory`, () => define(withRoot(KeyStore.layerMemory)))
  describeDrivers(name, (driver) => define(layerOn(driver)))
}
