import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type Migration, migrate, readMigrations } from "../../src/store/Migrations.ts"
import { describeDrivers } from "../support/Database.ts"

const migration = (number: number, name: string, statements: string): Migration => ({
  number,
  name,
  statements,
  checksum: createHash("sha256").update(statements).digest("hex")
})

const GOOD = migration(
  9001,
  "good",
  `-- Several statements; one with a body, one with a semicolon; in quotes.
  CREATE TABLE migrated (value text NOT NULL);
  CREATE FUNCTION shout(word text) RETURNS text LANGUAGE plpgsql AS $$
  BEGIN
    RETURN upper(word) || '; $1';
  END
  $$;
  INSERT INTO migrated SELECT shout('a;b''c');`
)

/** The product's own migrations, on a database that knows no others. */
const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM schema_migrations WHERE number > 9000`
  return { sql, own: yield* readMigrations() }
})

describeDrivers("Migrations", (driver) => {
  layer(driver.layer)((it) => {
    it.effect("run once each, also when several processes start together", () =>
      Effect.gen(function* () {
        const { own, sql } = yield* prepare
        yield* Effect.forEach([1, 2, 3], () => migrate([...own, GOOD]), { concurrency: 3 })
        assert.deepStrictEqual(yield* sql`SELECT value FROM migrated`, [{ value: "A;B'C; $1" }])
      })
    )

    it.effect("stop the start with one line when the database is newer than the code", () =>
      Effect.gen(function* () {
        const { own } = yield* prepare
        yield* migrate([...own, migration(9002, "newer", "SELECT 1;")])
        const error = yield* Effect.flip(migrate(own))
        assert.strictEqual(error._tag, "DatabaseNotStarted")
        assert.match(
          error.message,
          /^The database is newer than this version of Sluice: it has migration 9002_newer\. [^\n]+$/
        )
      })
    )

    it.effect("stop the start with one line when one that ran was changed", () =>
      Effect.gen(function* () {
        const { own } = yield* prepare
        const changed = own.map((known) =>
          known.number === 1 ? migration(1, known.name, `${known.statements} `) : known
        )
        const error = yield* Effect.flip(migrate(changed))
        assert.match(error.message, /^Migration 0001_extensions is not the one [^\n]+$/)
      })
    )

    it.effect("stop the start when two have the same number", () =>
      Effect.gen(function* () {
        const { own } = yield* prepare
        const error = yield* Effect.flip(migrate([...own, GOOD, migration(GOOD.number, "other", "SELECT 1;")]))
        assert.match(error.message, /^Two migrations have the number of 9001_other: [^\n]+$/)
      })
    )

    it.effect("leave nothing behind when one of their statements fails", () =>
      Effect.gen(function* () {
        const { own, sql } = yield* prepare
        const broken = migration(9003, "broken", "CREATE TABLE half (); SELECT * FROM missing;")
        const error = yield* Effect.flip(migrate([...own, broken]))
        assert.match(error.message, /^Migration 9003_broken failed and was rolled back: [^\n]*missing[^\n]*$/)
        const [row] = yield* sql`SELECT to_regclass('half') AS half`
        assert.isNull(row!["half"])
        yield* migrate(own)
      })
    )
  })
})
