import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import * as fc from "fast-check"
import { KeyId, OperationId, OrganizationId } from "../../src/domain/Ids.ts"
import type { AdmitCall, Settlement } from "../../src/store/AccountBatch.ts"
import { AccountStore } from "../../src/store/AccountStore.ts"
import { describeDrivers } from "../support/Database.ts"
import { LedgerModel } from "../support/LedgerModel.ts"
import {
  type AccountSnapshot,
  type Ledgers,
  layerMemoryStore,
  layerSqlStore,
  memoryLedgers,
  sqlLedgers
} from "../support/Ledgers.ts"
import { at } from "../support/VirtualClock.ts"

const START = Date.UTC(2026, 10, 20, 23, 58)
const HOLD_SECONDS = 30
const terms = { holdSeconds: HOLD_SECONDS, defaultLimits: { perMinute: 1, perDay: 1 } }
const OPERATIONS = 9
const POOL = 100

/** A call by its number: its key, bound and idempotency key are its own for ever, as when it is sent again. */
interface CallShape {
  readonly boundMicro: number
  readonly limitedKey: boolean
  readonly idempotency: number | undefined
  readonly fingerprint: number
}

type Step =
  | {
      readonly kind: "commit"
      readonly admit: ReadonlyArray<number>
      readonly settle: ReadonlyArray<readonly [number, number, boolean]>
    }
  | { readonly kind: "repeat" }
  | { readonly kind: "extend"; readonly operations: ReadonlyArray<number> }
  | { readonly kind: "sweep" }
  | { readonly kind: "clock"; readonly ms: number }

const operation = fc.nat(OPERATIONS - 1)

const callShape: fc.Arbitrary<CallShape> = fc.record({
  boundMicro: fc.oneof(fc.constant(0), fc.nat(60)),
  limitedKey: fc.boolean(),
  idempotency: fc.option(fc.nat(1), { nil: undefined }),
  fingerprint: fc.nat(1)
})

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("commit" as const),
      admit: fc.array(operation, { maxLength: 5 }),
      settle: fc.array(fc.tuple(operation, fc.nat(80), fc.boolean()), { maxLength: 4 })
    })
  },
  { weight: 1, arbitrary: fc.constant({ kind: "repeat" as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("extend" as const), operations: fc.array(operation) }) },
  { weight: 1, arbitrary: fc.constant({ kind: "sweep" as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("clock" as const),
      ms: fc.oneof(
        fc.constantFrom(1, 29_999, 30_000, 59_999, 60_000, 86_399_999, 86_400_000, -1, -45_000),
        fc.integer({ min: -5_000, max: 70_000 })
      )
    })
  }
)

type Schedule = typeof schedule extends fc.Arbitrary<infer Value> ? Value : never

const schedule = fc.record({
  calls: fc.array(callShape, { minLength: OPERATIONS, maxLength: OPERATIONS }),
  perMinute: fc.integer({ min: 1, max: 6 }),
  perDay: fc.integer({ min: 3, max: 12 }),
  steps: fc.array(step, { minLength: 1, maxLength: 25 })
})

const checkInvariants = ({ charges, grantedMicro, heldMicro, holds, postedMicro }: AccountSnapshot) => {
  const sum = (rows: ReadonlyArray<readonly [string, number]>) => rows.reduce((total, [, amount]) => total + amount, 0)
  assert.isAtLeast(postedMicro, 0)
  assert.isAtLeast(heldMicro, 0)
  assert.isAtMost(postedMicro + heldMicro, grantedMicro)
  assert.strictEqual(sum(charges), postedMicro)
  assert.strictEqual(sum(holds), heldMicro)
  assert.strictEqual(new Set(charges.map(([id]) => id)).size, charges.length)
}

let organizations = 0

/** Plays a schedule on a store and on the model, and compares answers and accounts after every step. */
const play = Effect.fnUntraced(function* (ledgers: Ledgers, { calls, perDay, perMinute, steps }: Schedule) {
  const store = yield* AccountStore
  const organization = OrganizationId.make(`organization-${++organizations}`)
  const limited = KeyId.make(`limited-${organization}`)
  const model = new LedgerModel({ grantedMicro: POOL, perMinute, perDay, keyLimits: new Map([[limited, 2]]) })
  yield* ledgers.open(organization, model.options)
  const idOf = (index: number) => OperationId.make(`${organization}/${index}`)
  const toCall = (index: number): AdmitCall => {
    const { boundMicro, fingerprint, idempotency, limitedKey } = calls[index]!
    return {
      operationId: idOf(index),
      operation: "test",
      keyId: limitedKey ? limited : KeyId.make("open"),
      boundMicro,
      ...(idempotency === undefined
        ? {}
        : { idempotency: { space: "rest", key: `key ${idempotency}`, fingerprint: String(fingerprint) } })
    }
  }
  const toSettlement = ([index, usedMicro, responds]: readonly [number, number, boolean]): Settlement => ({
    operationId: idOf(index),
    usedMicro,
    ...(responds ? { response: `{"answer":"${index}"}` } : {})
  })
  let now = START
  let batch = { settlements: [] as ReadonlyArray<Settlement>, admissions: [] as ReadonlyArray<AdmitCall> }

  const commit = Effect.suspend(() =>
    Effect.map(store.commit(organization, batch, terms).pipe(at(now)), (answer) => {
      assert.deepStrictEqual(answer, model.commit(batch, terms, now))
    })
  )

  for (const step of steps) {
    switch (step.kind) {
      case "clock":
        now += step.ms
        break
      case "sweep":
        // Other organizations' expired holds are released along with it.
        model.sweep(now)
        yield* store.sweep.pipe(at(now))
        break
      case "extend": {
        const operations = step.operations.map(idOf)
        model.extend(operations, now + HOLD_SECONDS * 1000)
        yield* store.extendHolds(operations, Duration.seconds(HOLD_SECONDS)).pipe(at(now))
        break
      }
      case "commit":
        batch = { settlements: step.settle.map(toSettlement), admissions: step.admit.map(toCall) }
        yield* commit
        break
      case "repeat":
        yield* commit
    }
    const snapshot = yield* ledgers.snapshot(organization, now)
    checkInvariants(snapshot)
    assert.deepStrictEqual(snapshot, model.snapshot(now))
  }
})

const checkSchedules = Effect.fnUntraced(function* (ledgers: Ledgers, numRuns: number) {
  const services = yield* Effect.context<AccountStore>()
  yield* Effect.promise(() =>
    fc.assert(
      fc.asyncProperty(schedule, (value) => Effect.runPromiseWith(services)(Effect.orDie(play(ledgers, value)))),
      { numRuns }
    )
  )
})

const guarantee = "keeps every invariant and answers as promised, whatever is admitted, settled, repeated or forgotten"

describe("The ledger in memory", () => {
  layer(layerMemoryStore)((it) => {
    it.effect(guarantee, () => Effect.flatMap(memoryLedgers, (ledgers) => checkSchedules(ledgers, 3000)))
  })
})

describeDrivers("The ledger", (driver) => {
  layer(layerSqlStore.pipe(Layer.provideMerge(driver.layer)))((it) => {
    it.effect(guarantee, () => Effect.flatMap(sqlLedgers, (ledgers) => checkSchedules(ledgers, 150)))
  })
})
