import { PgClient } from "@effect/sql-pg"
import { Config, Duration, Effect, type Redacted, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { DatabaseNotStarted, reasonOf } from "./DatabaseNotStarted.ts"
import { pgTypes } from "./PgTypes.ts"
import { onWallClock } from "./WallClock.ts"

/** Limits that the server keeps for every session, so that no statement and no forgotten transaction lasts. */
const SESSION = {
  statement_timeout: "30s",
  lock_timeout: "10s",
  idle_in_transaction_session_timeout: "30s",
  timezone: "UTC"
}

const unreachable = (cause: SqlError) =>
  new DatabaseNotStarted({
    message: `The database at DATABASE_URL cannot be reached: ${reasonOf(cause.reason.cause)}.`,
    cause
  })

/** A SQL client of a Postgres with pgvector, which answered once. */
export const connectPostgres = Effect.fnUntraced(
  function* (url: Redacted.Redacted, maxConnections: number) {
    const client = yield* PgClient.make({
      url,
      maxConnections,
      types: pgTypes,
      applicationName: "sluice",
      startupParameters: SESSION,
      connectTimeout: Duration.seconds(3),
      keepAlive: Duration.seconds(10)
    })
    yield* client`SELECT 1`
    return client
  },
  Effect.catchTag("SqlError", (cause) => Effect.fail(unreachable(cause))),
  onWallClock
)

const Connections = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 }))

/** Postgres with pgvector at `DATABASE_URL`, by at most `SLUICE_DATABASE_CONNECTIONS` (10) connections. */
export const makePostgres = Effect.gen(function* () {
  const url = yield* Config.Redacted("DATABASE_URL")
  const maxConnections = yield* Config.schema(Connections, "SLUICE_DATABASE_CONNECTIONS").pipe(Config.withDefault(10))
  return yield* connectPostgres(url, maxConnections)
})
