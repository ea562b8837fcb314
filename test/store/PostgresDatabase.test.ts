import { createConnection, createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { inject } from "vitest"
import { connectPostgres } from "../../src/store/PostgresDatabase.ts"
import { orUnavailable, StoreUnavailable } from "../../src/store/StoreUnavailable.ts"

const connect = (url: string, maxConnections = 2) =>
  connectPostgres(Redacted.make(url), maxConnections).pipe(Effect.provide(Reactivity.layer))

/** A port on which `onConnection` decides what happens. */
const listen = (onConnection: (socket: Socket) => void) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ readonly port: number; readonly close: () => void }>((resolve) => {
          const sockets = new Set<Socket>()
          const server = createServer((socket) => {
            sockets.add(socket.on("error", () => {}))
            onConnection(socket)
          }).listen(0, "127.0.0.1", () => {
            const address = server.address()
            const port = typeof address === "object" && address !== null ? address.port : 0
            const close = () => {
              server.close()
              for (const socket of sockets) socket.destroy()
            }
            resolve({ port, close })
          })
        })
    ),
    ({ close }) => Effect.sync(close)
  )

describe("Postgres", () => {
  it.effect("that refuses connections stops the start with one line, without its password", () =>
    Effect.gen(function* () {
      const server = yield* listen(() => {})
      server.close()
      const error = yield* Effect.flip(connect(`postgres://someone:hunter2@127.0.0.1:${server.port}/db`))
      assert.match(error.message, /^The database at DATABASE_URL cannot be reached: [^\n]*ECONNREFUSED[^\n]*$/)
      assert.notInclude(JSON.stringify(error), "hunter2")
    })
  )

  it.effect("that never answers stops the start within seconds", () =>
    Effect.gen(function* () {
      const server = yield* listen(() => {})
      const error = yield* Effect.flip(connect(`postgres://someone@127.0.0.1:${server.port}/db`))
      assert.match(error.message, /cannot be reached: Connection timed out\.$/)
    })
  )

  const url = inject("testDatabaseUrl")
  if (url === undefined) return

  it.effect("that ends its connections is unavailable for that call and back for the next", () =>
    Effect.gen(function* () {
      const sql = yield* connect(url)
      const admin = yield* connect(url)
      const [row] = yield* sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`
      const inTransaction = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT 1`
            yield* admin`SELECT pg_terminate_backend(${row!.pid})`
            yield* sql`SELECT 1`
          })
        )
        .pipe(orUnavailable, Effect.flip)
      assert.instanceOf(inTransaction, StoreUnavailable)
      assert.deepStrictEqual(yield* sql`SELECT 1 AS one`.pipe(orUnavailable), [{ one: 1 }])
    })
  )

  it.effect("that goes away is unavailable at once and comes back by itself", () =>
    Effect.gen(function* () {
      const target = new URL(url)
      let reachable = true
      const sockets = new Set<Socket>()
      const proxy = yield* listen((socket) => {
        if (!reachable) return void socket.destroy()
        const upstream = createConnection({ port: Number(target.port), host: target.hostname }).on("error", () => {})
        sockets.add(socket).add(upstream)
        socket.pipe(upstream).pipe(socket)
      })
      const throughProxy = new URL(url)
      throughProxy.port = String(proxy.port)
      const sql = yield* connect(throughProxy.href)
      reachable = false
      for (const socket of sockets) socket.destroy()
      assert.instanceOf(yield* Effect.flip(orUnavailable(sql`SELECT 1`)), StoreUnavailable)
      assert.instanceOf(yield* Effect.flip(orUnavailable(sql.withTransaction(sql`SELECT 1`))), StoreUnavailable)
      reachable = true
      assert.deepStrictEqual(yield* sql`SELECT 1 AS one`.pipe(orUnavailable), [{ one: 1 }])
    })
  )

  it.effect("gives up a statement that takes too long or waits for a lock too long", () =>
    Effect.gen(function* () {
      const sql = yield* connect(url)
      const slow = sql.withTransaction(
        Effect.andThen(sql`SET LOCAL statement_timeout = '50ms'`, sql`SELECT pg_sleep(20)`)
      )
      assert.instanceOf(yield* Effect.flip(orUnavailable(slow)), StoreUnavailable)
      const [row] =
        yield* sql`SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock`
      assert.deepStrictEqual(row, { statement: "30s", lock: "10s" })
    })
  )
})
