import { PgClient } from "@effect/sql-pg"
import { Config, Context, Duration, Effect, Layer, Option } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { makeEmbedded } from "./embedded/EmbeddedDatabase.ts"
import { migrate, readMigrations } from "./Migrations.ts"
import { makePostgres } from "./PostgresDatabase.ts"
import { orUnavailableWithin, type StoreUnavailable } from "./StoreUnavailable.ts"

const CHECK_TIMEOUT = Duration.seconds(3)

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
    /** Asks the database for a sign of life, for three seconds at most. */
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
      yield* migrate(yield* readMigrations())
      return Database.of({ driver, check: sql`SELECT 1`.pipe(Effect.asVoid, orUnavailableWithin(CHECK_TIMEOUT)) })
    })
  ).pipe(Layer.provideMerge(PgClient.layerFrom(make)))
