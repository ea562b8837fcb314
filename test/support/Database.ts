import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { Clock, Effect, Layer, Redacted } from "effect"
import { Statement } from "effect/sql"
import { describe, inject } from "vitest"
import { DatabaseClock, layerFrom } from "../../src/store/Database.ts"
import { makeEmbeddedClient, startEmbedded } from "../../src/store/embedded/EmbeddedDatabase.ts"
import { connectPostgres } from "../../src/store/PostgresDatabase.ts"

const makeEmbedded = Effect.gen(function* () {
  const snapshot = yield* Effect.promise(() => readFile(inject("databaseSnapshot")))
  return yield* makeEmbeddedClient(yield* startEmbedded({ snapshot: Uint8Array.from(snapshot) }))
})

/** The address of a new database on the test server, which is dropped with the scope. */
export const createTestDatabase = Effect.gen(function* () {
  const url = new URL(inject("testDatabaseUrl")!)
  const admin = yield* connectPostgres(Redacted.make(url.href), 1)
  const name = `sluice_test_${randomBytes(8).toString("hex")}`
  yield* Effect.acquireRelease(admin.unsafe(`CREATE DATABASE ${name}`), () =>
    Effect.orDie(admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`))
  )
  url.pathname = `/${name}`
  return url
})

const makePostgres = Effect.flatMap(createTestDatabase, (url) => connectPostgres(Redacted.make(url.href), 10))

/** A fresh and migrated embedded database in memory. */
export const layerEmbedded = layerFrom("embedded", makeEmbedded)

/** A fresh and migrated database on the Postgres server of `TEST_DATABASE_URL`. */
export const layerPostgres = layerFrom("postgres", makePostgres)

/** The stores' time is the test's: it stands still until `TestClock` moves it. */
export const layerVirtualTime = Layer.succeed(
  DatabaseClock,
  Effect.map(Clock.currentTimeMillis, (now) => Statement.fragment([Statement.parameter(new Date(now))]))
)

export interface TestDriver {
  readonly name: "embedded" | "postgres"
  readonly layer: typeof layerEmbedded | typeof layerPostgres
}

const drivers: ReadonlyArray<TestDriver> = [
  { name: "embedded", layer: layerEmbedded },
  ...(inject("testDatabaseUrl") === undefined ? [] : [{ name: "postgres", layer: layerPostgres } as const])
]

/** Defines the same tests for every database there is: the embedded one always, Postgres with `TEST_DATABASE_URL`. */
export const describeDrivers = (name: string, define: (driver: TestDriver) => void): void => {
  for (const driver of drivers) describe(`${name} on ${driver.name}`, () => define(driver))
}
