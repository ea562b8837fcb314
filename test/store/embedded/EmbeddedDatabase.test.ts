import { mkdtempSync, rmSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber } from "effect"
import { Reactivity } from "effect/reactivity"
import { inject } from "vitest"
import {
  type EmbeddedOptions,
  makeEmbeddedClient,
  startEmbedded
} from "../../../src/store/embedded/EmbeddedDatabase.ts"
import { orUnavailable, StoreUnavailable } from "../../../src/store/StoreUnavailable.ts"
import { onWallClock } from "../../../src/store/WallClock.ts"

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "sluice-embedded-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

const snapshot = Effect.map(
  Effect.promise(() => readFile(inject("databaseSnapshot"))),
  (bytes) => Uint8Array.from(bytes)
)

const start = Effect.fnUntraced(function* (options: EmbeddedOptions = {}) {
  const multiplexer = yield* startEmbedded({ snapshot: yield* snapshot, ...options })
  return yield* makeEmbeddedClient(multiplexer).pipe(Effect.provide(Reactivity.layer))
})

const unavailable = <A>(self: Effect.Effect<A, unknown>) =>
  Effect.map(Effect.flip(orUnavailable(self)), (error) => assert.instanceOf(error, StoreUnavailable))

const values = (sql: PgClient.PgClient) =>
  Effect.map(sql<{ value: number }>`SELECT value FROM kept ORDER BY value`, (rows) => rows.map((row) => row.value))

describe("The embedded database", () => {
  it.effect("starts anew after a crash and has all that was acknowledged", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const sql = yield* start({ directory: join(directory, "database"), batchTimeoutMs: 4000 })
      yield* sql`CREATE TABLE kept (value int8)`
      yield* sql`INSERT INTO kept VALUES (1)`
      const written = yield* Deferred.make<void>()
      const open = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO kept VALUES (2)`
            yield* Deferred.succeed(written, undefined)
            yield* sql`SELECT count(*) FROM generate_series(1, 10000000000)`
          })
        )
        .pipe(unavailable, Effect.forkScoped)
      yield* Deferred.await(written)
      const waiting = yield* Effect.forkScoped(unavailable(sql`INSERT INTO kept VALUES (3)`))
      yield* Fiber.join(open)
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(yield* values(sql), [1])
    })
  )

  it.effect("fails at once and for good when it crashed in memory", () =>
    Effect.gen(function* () {
      const sql = yield* start({ batchTimeoutMs: 300 })
      yield* unavailable(sql`SELECT count(*) FROM generate_series(1, 10000000000)`)
      yield* unavailable(sql`SELECT 1`)
    })
  )

  it.effect("ends a transaction that keeps all others waiting", () =>
    Effect.gen(function* () {
      const sql = yield* start({ idleInTransactionMs: 100 })
      yield* sql`CREATE TABLE kept (value int8)`
      const written = yield* Deferred.make<void>()
      const released = yield* Deferred.make<void>()
      const idle = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO kept VALUES (1)`
            yield* Deferred.succeed(written, undefined)
            yield* Deferred.await(released)
            yield* sql`INSERT INTO kept VALUES (2)`
          })
        )
        .pipe(unavailable, Effect.forkScoped)
      yield* Deferred.await(written)
      // A statement outside of the transaction has to wait for it, here until the transaction is ended by force.
      assert.deepStrictEqual(yield* values(sql), [])
      yield* Deferred.succeed(released, undefined)
      yield* Fiber.join(idle)
      assert.deepStrictEqual(yield* values(sql), [])
    })
  )

  it.effect("lets a caller leave before its turn, and does not run its statement", () =>
    Effect.gen(function* () {
      const sql = yield* start()
      yield* sql`CREATE TABLE kept (value int8)`
      const written = yield* Deferred.make<void>()
      const released = yield* Deferred.make<void>()
      const transaction = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO kept VALUES (1)`
            yield* Deferred.succeed(written, undefined)
            yield* Deferred.await(released)
          })
        )
        .pipe(Effect.forkScoped)
      yield* Deferred.await(written)
      const waiting = yield* Effect.forkScoped(sql`INSERT INTO kept VALUES (2)`)
      for (let turn = 0; turn < 20; turn++) yield* Effect.promise(() => new Promise(setImmediate))
      const [elapsed] = yield* Effect.timed(Fiber.interrupt(waiting)).pipe(onWallClock)
      // Without a word from the database, the driver would give the connection up after five seconds.
      assert.isBelow(Duration.toSeconds(elapsed), 4)
      yield* Deferred.succeed(released, undefined)
      yield* Fiber.join(transaction)
      assert.deepStrictEqual(yield* values(sql), [1])
    })
  )

  it.effect("forgets the prepared statements of connections that ended", () =>
    Effect.gen(function* () {
      const multiplexer = yield* startEmbedded({ snapshot: yield* snapshot })
      const connect = Effect.provide(makeEmbeddedClient(multiplexer), Reactivity.layer)
      const prepared = Effect.fnUntraced(function* (sql: PgClient.PgClient) {
        const [row] = yield* sql<{ count: number }>`
          SELECT count(*) AS count FROM pg_prepared_statements WHERE statement = 'SELECT 1 AS first'`
        return row!.count
      })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const first = yield* connect
          yield* first`SELECT 1 AS first`
          assert.strictEqual(yield* prepared(first), 1)
        })
      )
      assert.strictEqual(yield* prepared(yield* connect), 0)
    })
  )

  it.effect("says in one line why it does not start", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const broken = new TextEncoder().encode("this is no tar")
      const error = yield* Effect.flip(startEmbedded({ directory: join(directory, "database"), snapshot: broken }))
      assert.match(error.message, /^The embedded database in \S+ did not start: [^\n]+$/)
    })
  )
})
