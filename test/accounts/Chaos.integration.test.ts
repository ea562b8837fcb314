import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { connectPostgres } from "../../src/store/PostgresDatabase.ts"
import { createTestDatabase } from "../support/Database.ts"
import { runChaos } from "../support/LedgerChaos.ts"

describe("Processes that share a pool", () => {
  it.live(
    "overspend, lose and charge nothing twice when they are killed and lose all their connections",
    () =>
      Effect.gen(function* () {
        const url = yield* createTestDatabase
        const admin = yield* connectPostgres(Redacted.make(url.href), 1)
        const cutConnections = admin`
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()`
        const report = yield* Effect.promise(() =>
          runChaos({
            url: url.href,
            processes: 2,
            callers: 32,
            requests: 3000,
            kills: 2,
            disturbances: 2,
            disturb: () => Effect.runPromise(Effect.asVoid(cutConnections))
          })
        )
        const { acknowledged, chargedTwice, imbalanceMicro, lost, orphanedAfter, overspentMicro, refused } = report
        assert.deepStrictEqual(
          { chargedTwice, imbalanceMicro, lost, orphanedAfter, overspentMicro },
          { chargedTwice: 0, imbalanceMicro: 0, lost: 0, orphanedAfter: 0, overspentMicro: 0 }
        )
        assert.isAbove(acknowledged, 2000)
        assert.isAbove(refused, 0)
      }).pipe(Effect.provide(Reactivity.layer)),
    120_000
  )
})
