import { PgClient } from "@effect/sql-pg"
import { Config, Context, Effect, Layer, Option } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { makeEmbedded } from "./embedded/EmbeddedDatabase.ts"
import { migrate, readMigrations } from "./Migrations.ts"
import { makePostgres } from "./PostgresDatabase.ts"
import { orUnavailable, type StoreUnavailable } from "./StoreUnavailable.ts"

export type DatabaseDriver = "embedded" | "postgres"

/**
 * The time that stores decide by, as an SQL expression of type timestamptz: the database's own clock, so that all
 * replicas agree. A test may give its virtual time instead.
 */
export const DatabaseClock = Context.Reference<Effect.Effect<Statement.Fragment>>("sluice/store/DatabaseClock", {
  defaultValue: () => Effect.succeed(Statement.fragment([Statement.literal("clock_timestamp()")]))
})

/** The database that all stores share, migrated to this version before anybody sees it. */
export class Database extends Context.Service<
  Database,
  {
    readonly driver: DatabaseDriver
    /** Asks the database for a sign of life. */
    readonly check: Effect.Effect<void, StoreUnavailable>
  }
>()("sluice/store/Database") {
  /** By `DATABASE_URL` if it is set, otherwise embedded under `SLUICE_DATA_DIR`. */
  static readonly layer = Layer.unwrap(
    Effect.gen(function* () {
      const url = yield* Config.option(Config.Redacted("DATABASE_URL"))
      return Option.isSome(url) ? layerFrom("postgres", makePostgres) : layerFrom("embedded", makeEmbedded)
    })
  )
}

/** A migrated database on what a driver makes. */
export const layerFrom = <E, R>(driver: DatabaseDriver, make: Effect.Effect<PgClient.PgClient, E, R>) =>
  Layer.effect(
    Database,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Effect.orDie(readMigrations()).pipe(Effect.flatMap(migrate))
      return Database.of({ driver, check: sql`SELECT 1`.pipe(Effect.asVoid, orUnavailable) })
    })
  ).pipe(Layer.provideMerge(PgClient.layerFrom(make)))
