import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { OrganizationId } from "../../src/domain/Ids.ts"
import { VectorStore } from "../../src/store/VectorStore.ts"
import { describeDrivers, type TestDriver } from "./Database.ts"

/** Organizations that exist in every store under test. */
export const acme = OrganizationId.make("acme")
export const other = OrganizationId.make("other")

const insertOrganizations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (id, name) VALUES (${acme}, 'Acme'), (${other}, 'Other')`
})

const layerOn = (driver: TestDriver) =>
  VectorStore.layer.pipe(
    Layer.provideMerge(Layer.effectDiscard(Effect.orDie(insertOrganizations)).pipe(Layer.provideMerge(driver.layer))),
    Layer.orDie
  )

/** Defines the same tests for every database there is. */
export const describeVectorDatabases = (name: string, define: (store: Layer.Layer<VectorStore>) => void): void =>
  describeDrivers(name, (driver) => define(layerOn(driver)))

/** Defines the same tests for the store in memory and on every database there is. */
export const describeVectorStores = (name: string, define: (store: Layer.Layer<VectorStore>) => void): void => {
  describe(`${name} in memory`, () => define(VectorStore.layerMemory))
  describeVectorDatabases(name, define)
}
