import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../src/store/Database.ts"
import { describeDrivers } from "../support/Database.ts"

describeDrivers("Database", (driver) => {
  layer(driver.layer)((it) => {
    it.effect("answers, migrated, with numbers as numbers", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* (yield* Database).check
        const [row] = yield* sql<{ count: number; time: Date; vector: Array<number> }>`
          SELECT count(*) AS count, now() AS time, '[1,2]'::vector::real[] AS vector FROM schema_migrations`
        assert.isAbove(row!.count, 0)
        assert.instanceOf(row!.time, Date)
        assert.deepStrictEqual(row!.vector, [1, 2])
      })
    )
  })
})
