import { createHash } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { DatabaseNotStarted, reasonOf } from "./DatabaseNotStarted.ts"

export interface Migration {
  readonly number: number
  readonly name: string
  readonly statements: string
  /** SHA-256 of the file, in hexadecimal. */
  readonly checksum: string
}

interface Applied {
  readonly number: number
  readonly name: string
  readonly checksum: string
}

const FILE_NAME = /^(\d{4})_([a-z0-9_]+)\.sql$/
/** Any number that nothing else takes as an advisory lock. */
const LOCK = 7_583_423

const DIRECTORY = fileURLToPath(new URL("../../schema/migrations/", import.meta.url))

const readMigration = async (directory: string, file: string): Promise<Migration> => {
  const [, number, name] = FILE_NAME.exec(file)!
  const statements = await readFile(`${directory}/${file}`, "utf8")
  return {
    number: Number(number),
    name: name!,
    statements,
    checksum: createHash("sha256").update(statements).digest("hex")
  }
}

/** The migrations in a folder, in their order. */
export const readMigrations = Effect.fnUntraced(function* (directory: string = DIRECTORY) {
  return yield* Effect.promise(async () => {
    const files = (await readdir(directory)).filter((file) => FILE_NAME.test(file)).sort()
    return Promise.all(files.map((file) => readMigration(directory, file)))
  })
})

const label = ({ name, number }: { readonly name: string; readonly number: number }) =>
  `${String(number).padStart(4, "0")}_${name}`

/** Fails when this code is not the one that the database was migrated by. */
const verify = (migrations: ReadonlyArray<Migration>, applied: ReadonlyArray<Applied>) => {
  const twice = migrations.find((migration, index) => migration.number === migrations[index - 1]?.number)
  if (twice !== undefined) {
    return new DatabaseNotStarted({
      message: `Two migrations have the number of ${label(twice)}: renumber one of them.`
    })
  }
  for (const row of applied) {
    const known = migrations.find((migration) => migration.number === row.number)
    if (known === undefined) {
      return new DatabaseNotStarted({
        message: `The database is newer than this version of Sluice: it has migration ${label(row)}. Start the version that made it, or a later one.`
      })
    }
    if (known.checksum !== row.checksum || known.name !== row.name) {
      return new DatabaseNotStarted({
        message: `Migration ${label(known)} is not the one that the database was migrated by: restore the file, and put the change into a new migration.`
      })
    }
  }
  return undefined
}

const failure = (migration: Migration, cause: SqlError) =>
  new DatabaseNotStarted({
    message: `Migration ${label(migration)} failed and was rolled back: ${reasonOf(cause.reason.cause)}.`,
    cause
  })

/**
 * Brings the database up to this version: each migration in a transaction of its own, one process at a time, each
 * recorded with its checksum.
 */
export const migrate = Effect.fnUntraced(function* (migrations: ReadonlyArray<Migration>) {
  const sql = yield* SqlClient.SqlClient
  const lock = sql`SELECT pg_advisory_xact_lock(${LOCK})`

  const readApplied = sql.withTransaction(
    Effect.gen(function* () {
      yield* lock
      yield* sql`
        CREATE TABLE IF NOT EXISTS schema_migrations (
          number integer PRIMARY KEY,
          name text NOT NULL,
          checksum text NOT NULL,
          applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )`
      return yield* sql<Applied>`SELECT number, name, checksum FROM schema_migrations ORDER BY number`
    })
  )

  const apply = (migration: Migration) =>
    sql.withTransaction(
      Effect.gen(function* () {
        yield* lock
        const done = yield* sql`SELECT 1 FROM schema_migrations WHERE number = ${migration.number}`
        if (done.length > 0) return
        // The driver sends one statement at a time; PL/pgSQL's EXECUTE takes a whole file of them.
        yield* sql`SELECT set_config('sluice.migration', ${migration.statements}, true)`
        yield* sql`DO 'BEGIN EXECUTE current_setting(''sluice.migration''); END'`
        yield* sql`
          INSERT INTO schema_migrations (number, name, checksum)
          VALUES (${migration.number}, ${migration.name}, ${migration.checksum})`
      })
    )

  const applied = yield* readApplied
  const mismatch = verify(migrations, applied)
  if (mismatch !== undefined) return yield* mismatch
  for (const migration of migrations) {
    if (applied.some((row) => row.number === migration.number)) continue
    yield* apply(migration).pipe(Effect.catchTag("SqlError", (cause) => Effect.fail(failure(migration, cause))))
    yield* Effect.logInfo(`Migrated the database to ${label(migration)}`)
  }
})
