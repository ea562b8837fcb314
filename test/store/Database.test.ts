import { assert, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Database, DatabaseClock } from "../../src/store/Database.ts"
import { orUnavailable } from "../../src/store/StoreUnavailable.ts"
import { describeDrivers, layerVirtualTime } from "../support/Database.ts"

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

describeDrivers("The database", (driver) => {
  layer(driver.layer)((it) => {
    const newTable = Effect.fnUntraced(function* (name: string) {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE ${sql(name)} (value int8 NOT NULL)`
      const values = Effect.map(sql<{ value: number }>`SELECT value FROM ${sql(name)} ORDER BY value`, (rows) =>
        rows.map((row) => row.value)
      )
      return { sql, table: sql(name), values }
    })

    it.effect("is migrated and answers", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const database = yield* Database
        yield* database.check
        assert.strictEqual(database.driver, driver.name)
        const [row] = yield* sql<{ count: number }>`SELECT count(*) AS count FROM schema_migrations`
        assert.isAbove(row!.count, 0)
      })
    )

    it.effect("gives the same types on every driver", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql`
          SELECT ${Number.MAX_SAFE_INTEGER}::int8 AS large, ${-7}::int8 AS small, ARRAY[1, 2]::int8[] AS many, 1.5::float8 AS real,
                 '2026-01-02T03:04:05Z'::timestamptz AS time, '\\x01ff'::bytea AS bytes, '[1,2.5]'::vector::real[] AS vector,
                 ${JSON.stringify({ a: [1] })}::jsonb AS json, ${["x", "y"]}::text[] AS texts, NULL::int8 AS nothing`
        assert.deepStrictEqual(row, {
          large: Number.MAX_SAFE_INTEGER,
          small: -7,
          many: [1, 2],
          real: 1.5,
          time: new Date("2026-01-02T03:04:05Z"),
          bytes: Uint8Array.of(1, 255),
          vector: [1, 2.5],
          json: { a: [1] },
          texts: ["x", "y"],
          nothing: null
        })
      })
    )

    it.effect("fails on an integer that a number cannot hold, and works on", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        assert.isTrue(Exit.isFailure(yield* Effect.exit(sql`SELECT 9007199254740993::int8 AS huge`)))
        assert.deepStrictEqual(yield* sql`SELECT 1 AS one`, [{ one: 1 }])
      })
    )

    it.effect("keeps parallel transactions apart", () =>
      Effect.gen(function* () {
        const { sql, table, values } = yield* newTable("parallel")
        const transaction = (index: number) =>
          sql.withTransaction(
            Effect.gen(function* () {
              const [before] = yield* sql<{ id: string }>`SELECT pg_current_xact_id()::text AS id`
              yield* sql`INSERT INTO ${table} VALUES (${index})`
              yield* Effect.yieldNow
              const [after] = yield* sql<{ id: string }>`SELECT pg_current_xact_id()::text AS id`
              assert.strictEqual(after!.id, before!.id)
              return index % 2 === 0 ? before!.id : yield* Effect.fail("odd")
            })
          )
        const exits = yield* Effect.forEach(times(60), (index) => Effect.exit(transaction(index)), { concurrency: 60 })
        const ids = exits.filter(Exit.isSuccess).map((exit) => exit.value)
        assert.strictEqual(new Set(ids).size, 30)
        assert.deepStrictEqual(
          yield* values,
          times(60).filter((index) => index % 2 === 0)
        )
      })
    )

    it.effect("rolls back when the transaction's fiber is interrupted, and goes on", () =>
      Effect.gen(function* () {
        const { sql, table, values } = yield* newTable("interrupted")
        const written = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(
          sql.withTransaction(
            sql`INSERT INTO ${table} VALUES (1)`.pipe(
              Effect.andThen(Deferred.succeed(written, undefined)),
              Effect.andThen(Effect.never)
            )
          )
        )
        yield* Deferred.await(written)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* values, [])
      })
    )

    it.effect("survives interruption at any statement of a transaction", () =>
      Effect.gen(function* () {
        const { sql, table, values } = yield* newTable("anywhere")
        const transaction = sql.withTransaction(
          Effect.forEach(times(5), (value) => sql`INSERT INTO ${table} VALUES (${value})`, { discard: true })
        )
        yield* Effect.forEach(
          times(40),
          (turns) =>
            Effect.gen(function* () {
              const fiber = yield* Effect.forkChild(transaction)
              yield* Effect.forEach(times(turns), () => Effect.promise(() => new Promise(setImmediate)), {
                discard: true
              })
              yield* Fiber.interrupt(fiber)
            }),
          { concurrency: 8 }
        )
        // Each of them is there as a whole or not at all.
        assert.strictEqual((yield* values).length % 5, 0)
        yield* transaction
      })
    )

    it.effect("undoes a savepoint alone", () =>
      Effect.gen(function* () {
        const { sql, table, values } = yield* newTable("savepoints")
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO ${table} VALUES (1)`
            yield* sql.withTransaction(sql`INSERT INTO ${table} VALUES (NULL)`).pipe(Effect.ignore)
            yield* sql.withTransaction(sql`INSERT INTO ${table} VALUES (2)`)
          })
        )
        assert.deepStrictEqual(yield* values, [1, 2])
      })
    )

    it.effect("answers 200 concurrent queries, each its own", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const answers = yield* Effect.forEach(
          times(200),
          (index) => sql<{ value: number }>`SELECT ${index}::int4 AS value, ${"x".repeat(index)}::text AS text`,
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          answers.map(([row]) => row!.value),
          times(200)
        )
      })
    )

    it.effect("carries parameters and results of 5 MB", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const text = "Größe ".repeat(750_000)
        const [row] = yield* sql<{ text: string }>`SELECT ${text}::text AS text`
        assert.isTrue(row!.text === text)
        const rows = yield* sql<{ text: string }>`SELECT repeat('x', 100) AS text FROM generate_series(1, 50000)`
        assert.strictEqual(rows.length, 50_000)
      })
    )

    it.effect("takes a mistake in SQL as a defect, inside a transaction too", () =>
      Effect.gen(function* () {
        const { sql, table } = yield* newTable("defects")
        const exit = yield* sql
          .withTransaction(sql`INSERT INTO ${table} VALUES (NULL)`)
          .pipe(orUnavailable, Effect.exit)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      })
    )

    it.effect("passes a store's own failure on", () =>
      Effect.gen(function* () {
        const failure = yield* Effect.fail("ours").pipe(orUnavailable, Effect.flip)
        assert.strictEqual(failure, "ours")
      })
    )

    it.effect("tells the time, the database's or the test's", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ask = Effect.gen(function* () {
          const now = yield* yield* DatabaseClock
          const [row] = yield* sql<{ time: Date }>`SELECT ${now} - interval '1 second' AS time`
          return row!.time.getTime() + 1000
        })
        assert.isAbove(yield* ask, Date.parse("2025-01-01"))
        yield* TestClock.setTime(5_000_000)
        assert.strictEqual(yield* Effect.provide(ask, layerVirtualTime), 5_000_000)
      })
    )

    it.effect("is as fast when the test's time stands still or jumps", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const fiber = yield* Effect.forkChild(sql`SELECT count(*) FROM generate_series(1, 300000)`.pipe(orUnavailable))
        yield* TestClock.adjust("1 day")
        assert.strictEqual((yield* Fiber.join(fiber)).length, 1)
        assert.strictEqual((yield* sql`SELECT 1`).length, 1)
      })
    )
  })
})
