import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fc from "fast-check"
import { KeyId, OperationId, OrganizationId } from "../../src/domain/Ids.ts"
import { retryAfterSeconds } from "../../src/domain/RateLimit.ts"
import type { AdmitCall } from "../../src/store/AccountBatch.ts"
import { AccountStore } from "../../src/store/AccountStore.ts"
import { describeDrivers } from "../support/Database.ts"
import { type Ledgers, layerMemoryStore, layerSqlStore, memoryLedgers, sqlLedgers } from "../support/Ledgers.ts"
import { at } from "../support/VirtualClock.ts"

const START = Date.UTC(2026, 10, 20, 12)
const LIMIT = 10
const WINDOW = 60_000
const terms = { holdSeconds: 30, defaultLimits: { perMinute: LIMIT, perDay: 100_000 } }

/** Bursts of calls, each after a pause in milliseconds. */
const bursts = fc.array(
  fc.record({
    pause: fc.oneof(fc.nat(3_000), fc.nat(25_000), fc.constantFrom(1, 59_999, 60_000)),
    calls: fc.integer({ min: 1, max: 13 })
  }),
  { minLength: 1, maxLength: 20 }
)
type Bursts = typeof bursts extends fc.Arbitrary<infer Value> ? Value : never

const inWindow = (admitted: ReadonlyArray<number>, end: number) =>
  admitted.filter((time) => time > end - WINDOW && time <= end).length

let organizations = 0

const play = Effect.fnUntraced(function* (ledgers: Ledgers, schedule: Bursts) {
  const store = yield* AccountStore
  const organization = OrganizationId.make(`limited-${++organizations}`)
  yield* ledgers.open(organization, { grantedMicro: 0, perMinute: LIMIT, perDay: 100_000, keyLimits: new Map() })
  const admitted: Array<number> = []
  let calls = 0
  let now = START

  for (const burst of schedule) {
    now += burst.pause
    const admissions = Array.from(
      { length: burst.calls },
      (): AdmitCall => ({
        operationId: OperationId.make(`${organization}/${calls++}`),
        operation: "test",
        keyId: KeyId.make("key"),
        boundMicro: 0
      })
    )
    const answer = yield* store.commit(organization, { settlements: [], admissions }, terms).pipe(at(now))
    for (const { outcome, rateLimits } of answer.admissions) {
      const before = inWindow(admitted, now)
      if (outcome === "admitted") admitted.push(now)
      else {
        assert.strictEqual(before, LIMIT, "a refusal that was not due")
        const free = now + rateLimits.minute.resetSeconds * 1000
        assert.isBelow(inWindow(admitted, free), LIMIT, "a retry after the reset would be refused")
        assert.strictEqual(inWindow(admitted, free - 1), LIMIT, "a retry before the reset would be admitted")
        assert.isAtLeast(retryAfterSeconds(rateLimits) * 1000, free - now)
      }
      assert.strictEqual(rateLimits.minute.remaining, LIMIT - inWindow(admitted, now))
    }
  }
  for (const time of admitted) assert.isAtMost(inWindow(admitted, time), LIMIT, "one call too many in a window")
})

const checkSchedules = Effect.fnUntraced(function* (ledgers: Ledgers, numRuns: number) {
  const services = yield* Effect.context<AccountStore>()
  yield* Effect.promise(() =>
    fc.assert(
      fc.asyncProperty(bursts, (value) => Effect.runPromiseWith(services)(Effect.orDie(play(ledgers, value)))),
      { numRuns }
    )
  )
})

const guarantee =
  "admit as many calls as they say in any 60 seconds, refuse none that was due, and tell truly when to come back"

describe("Rate limits in memory", () => {
  layer(layerMemoryStore)((it) => {
    it.effect(guarantee, () => Effect.flatMap(memoryLedgers, (ledgers) => checkSchedules(ledgers, 2000)))
  })
})

describeDrivers("Rate limits", (driver) => {
  layer(layerSqlStore.pipe(Layer.provideMerge(driver.layer)))((it) => {
    it.effect(guarantee, () => Effect.flatMap(sqlLedgers, (ledgers) => checkSchedules(ledgers, 80)))
  })
})
