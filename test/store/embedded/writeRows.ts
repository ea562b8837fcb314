import { Effect, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../../src/store/Database.ts"

/**
 * Writes rows into the embedded database in transactions of three, four at a time, and says the number of each
 * transaction once it is acknowledged, until it is killed.
 */
const program = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE IF NOT EXISTS kept (number int8 NOT NULL, part int4 NOT NULL)`
  const [row] = yield* sql<{ next: number }>`SELECT coalesce(max(number), 0) + 1 AS next FROM kept`
  let next = row!.next
  const write = Effect.gen(function* () {
    const number = next++
    yield* sql.withTransaction(
      Effect.forEach([1, 2, 3], (part) => sql`INSERT INTO kept VALUES (${number}, ${part})`, { discard: true })
    )
    process.stdout.write(`${number}\n`)
  })
  yield* Effect.forEach([1, 2, 3, 4], () => Effect.forever(write), { concurrency: 4 })
})

await Effect.runPromise(program.pipe(Effect.provide(Database.layer), Effect.provide(Logger.layer([]))))
