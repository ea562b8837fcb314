import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as Availability from "../../src/accounts/Availability.ts"
import { StoreUnavailable } from "../../src/store/StoreUnavailable.ts"

const away = new StoreUnavailable({ cause: new Error("connection refused") })

/** A guard of a database that is away until it is told otherwise, and how often the database was asked. */
const start = Effect.gen(function* () {
  const database = { isAway: true, calls: 0, checks: 0 }
  const ask = Effect.suspend(() => (database.isAway ? Effect.fail(away) : Effect.void))
  const { guard } = yield* Availability.make(
    Effect.suspend(() => {
      database.checks++
      return ask
    })
  )
  const call = guard(
    Effect.suspend(() => {
      database.calls++
      return ask
    })
  )
  return { database, call, guard }
})

describe("Availability", () => {
  it.effect("asks a database that is away once, and refuses the calls after that without asking it", () =>
    Effect.gen(function* () {
      const { call, database } = yield* start
      for (let count = 0; count < 10; count++) assert.strictEqual(yield* Effect.flip(call), away)
      assert.strictEqual(database.calls, 1)
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("lets calls through again soon after the database is back, and then stops asking for it", () =>
    Effect.gen(function* () {
      const { call, database } = yield* start
      yield* Effect.flip(call)
      yield* TestClock.adjust("1 minute")
      database.isAway = false
      yield* TestClock.adjust("200 millis")
      yield* call
      const { checks } = database
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(database.checks, checks)
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("does not take other failures for an outage", () =>
    Effect.gen(function* () {
      const { call, database, guard } = yield* start
      assert.strictEqual(yield* Effect.flip(guard(Effect.fail("refused"))), "refused")
      assert.isTrue(Exit.isFailure(yield* Effect.exit(guard(Effect.die("a bug")))))
      database.isAway = false
      yield* call
      assert.strictEqual(database.checks, 0)
    })
  )
})
