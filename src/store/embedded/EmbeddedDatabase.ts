import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { DatabaseNotStarted, reasonOf } from "../DatabaseNotStarted.ts"
import { dataDirectory } from "../DataDirectory.ts"
import { pgTypes } from "../PgTypes.ts"
import { onWallClock } from "../WallClock.ts"
import { lockDirectory } from "./DirectoryLock.ts"
import { Multiplexer } from "./Multiplexer.ts"

const MAX_CONNECTIONS = 16
const BATCH_TIMEOUT_MS = 120_000
const IDLE_IN_TRANSACTION_MS = 10_000

export interface EmbeddedOptions {
  /** Missing: in memory. */
  readonly directory?: string
  /** A data directory as an uncompressed tar, to start a new database from. */
  readonly snapshot?: Uint8Array<ArrayBuffer>
  /** How long one batch may run, before the database counts as hung and is started anew; by default two minutes. */
  readonly batchTimeoutMs?: number
  /** How long a transaction may stop everybody else without a statement of its own; by default ten seconds. */
  readonly idleInTransactionMs?: number
}

/** A running embedded Postgres that ends with the scope. */
export const startEmbedded = Effect.fnUntraced(function* (options: EmbeddedOptions) {
  const multiplexer = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new Multiplexer({
          directory: options.directory,
          snapshot: options.snapshot,
          batchTimeoutMs: options.batchTimeoutMs ?? BATCH_TIMEOUT_MS,
          idleInTransactionMs: options.idleInTransactionMs ?? IDLE_IN_TRANSACTION_MS
        })
    ),
    (running) => Effect.promise(() => running.close())
  )
  yield* Effect.tryPromise({
    try: () => multiplexer.ready,
    catch: (cause) =>
      new DatabaseNotStarted({
        message: `The embedded database${options.directory === undefined ? "" : ` in ${options.directory}`} did not start: ${reasonOf(cause)}.`,
        cause
      })
  })
  return multiplexer
})

/** A SQL client of an embedded Postgres. */
export const makeEmbeddedClient = (multiplexer: Multiplexer) =>
  PgClient.make({
    stream: () => multiplexer.connect(),
    username: "postgres",
    database: "postgres",
    types: pgTypes,
    maxConnections: MAX_CONNECTIONS
  }).pipe(onWallClock, Effect.orDie)

/** Stands in a database that was created to its end; nobody could write to one that was not. */
const COMPLETE = "complete"

const markComplete = (database: string) => writeFileSync(join(database, COMPLETE), "")

/** Moves what a first start left behind that was killed while it created the database. */
const setAsideIncomplete = (database: string) => {
  if (!existsSync(database) || existsSync(join(database, COMPLETE))) return
  rmSync(`${database}.incomplete`, { recursive: true, force: true })
  renameSync(database, `${database}.incomplete`)
}

/** PGlite with pgvector in `<data directory>/database`, for one process at a time. */
export const makeEmbedded = Effect.gen(function* () {
  const directory = resolve(yield* dataDirectory)
  yield* lockDirectory(directory)
  const database = join(directory, "database")
  yield* Effect.sync(() => setAsideIncomplete(database))
  const multiplexer = yield* startEmbedded({ directory: database })
  yield* Effect.sync(() => markComplete(database))
  return yield* makeEmbeddedClient(multiplexer)
})
