import { randomUUID } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import { Credits } from "../../src/accounts/Credits.ts"
import type { Idempotency } from "../../src/domain/Idempotency.ts"
import { KeyId, OperationId, OrganizationId } from "../../src/domain/Ids.ts"
import type { AdmitCall } from "../../src/store/AccountBatch.ts"
import { AccountStore } from "../../src/store/AccountStore.ts"
import { describeDrivers } from "../support/Database.ts"
import { type Ledgers, layerMemoryStore, layerSqlStore, memoryLedgers, sqlLedgers } from "../support/Ledgers.ts"

const keyId = KeyId.make("key")

const call = (boundMicro: number, idempotency?: Idempotency): AdmitCall => ({
  operationId: OperationId.make(randomUUID()),
  operation: "test",
  keyId,
  boundMicro,
  ...(idempotency === undefined ? {} : { idempotency })
})

const once = (key: string, fingerprint = "one request"): Idempotency => ({ space: "rest", key, fingerprint })

/** What a process is made of, on the store that all of them share. */
const startProcess = Effect.map(Layer.build(Layer.fresh(Credits.layer)), (context) => Context.get(context, Credits))

const openAccount = Effect.fnUntraced(function* (
  ledgers: Ledgers,
  options: { readonly grantedMicro?: number; readonly perMinute?: number } = {}
) {
  const organization = OrganizationId.make(randomUUID())
  const limits = { perMinute: 1000, perDay: 100_000, keyLimits: new Map(), grantedMicro: 1000, ...options }
  yield* ledgers.open(organization, limits)
  const snapshot = Effect.suspend(() => ledgers.snapshot(organization, Date.now()))
  return { organization, snapshot }
})

const inParallel = <A, E, R>(times: number, effect: (index: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(Array.from({ length: times }).keys(), (index) => Effect.result(effect(index)), {
    concurrency: "unbounded"
  })

const failuresOf = <A, E extends { readonly _tag: string }>(results: ReadonlyArray<Result.Result<A, E>>) =>
  results.flatMap((result) => (Result.isFailure(result) ? [result.failure._tag] : []))

/** Defines the guarantees for a store. */
const define = <R, E>(services: Layer.Layer<AccountStore | R, E>, ledgersOf: Effect.Effect<Ledgers, never, R>) =>
  layer(services)((it) => {
    it.effect("never spends more than the pool, whatever is called in parallel by any process", () =>
      Effect.gen(function* () {
        const { organization, snapshot } = yield* openAccount(yield* ledgersOf, { grantedMicro: 50 * 7 })
        const processes = [yield* startProcess, yield* startProcess]
        const results = yield* inParallel(200, (index) =>
          Effect.gen(function* () {
            const credits = processes[index % 2]!
            const { operationId } = yield* Effect.tap(Effect.succeed(call(7)), (it) => credits.admit(organization, it))
            return yield* credits.settle(organization, { operationId, usedMicro: 7 })
          })
        )
        const failures = failuresOf(results)
        assert.strictEqual(failures.length, 150)
        assert.deepStrictEqual([...new Set(failures)], ["InsufficientCredits"])
        const { charges, heldMicro, postedMicro } = yield* snapshot
        assert.deepStrictEqual([postedMicro, heldMicro, charges.length], [350, 0, 50])
      })
    )

    it.effect("admits exactly 60 of 75 parallel calls, at any mix of processes", () =>
      Effect.gen(function* () {
        const { organization } = yield* openAccount(yield* ledgersOf, { perMinute: 60 })
        const processes = [yield* startProcess, yield* startProcess, yield* startProcess]
        const results = yield* inParallel(75, (index) => processes[index % 3]!.admit(organization, call(index % 2)))
        const failures = failuresOf(results)
        assert.strictEqual(failures.length, 15)
        assert.deepStrictEqual([...new Set(failures)], ["RateLimited"])
      })
    )

    it.effect("runs one of 50 parallel calls with the same idempotency key, and replays its answer", () =>
      Effect.gen(function* () {
        const { organization, snapshot } = yield* openAccount(yield* ledgersOf)
        const processes = [yield* startProcess, yield* startProcess]
        const calls = Array.from({ length: 50 }, () => call(10, once("key")))
        const results = yield* inParallel(50, (index) => processes[index % 2]!.admit(organization, calls[index]!))
        assert.strictEqual(failuresOf(results).filter((tag) => tag === "IdempotencyInProgress").length, 49)
        const { operationId } = calls[results.findIndex(Result.isSuccess)]!
        yield* processes[0]!.settle(organization, { operationId, usedMicro: 10, response: '"hello"' })
        const again = yield* processes[1]!.admit(organization, call(10, once("key")))
        assert.deepStrictEqual(again.replay, Option.some('"hello"'))
        const other = yield* Effect.flip(processes[1]!.admit(organization, call(10, once("key", "another request"))))
        assert.strictEqual(other._tag, "IdempotencyMismatch")
        const { charges, heldMicro } = yield* snapshot
        assert.deepStrictEqual(charges, [[operationId, 10]])
        assert.strictEqual(heldMicro, 0)
      })
    )

    it.effect("counts no replay, no call in progress and no mismatch against the rate limit", () =>
      Effect.gen(function* () {
        const { organization } = yield* openAccount(yield* ledgersOf, { perMinute: 2 })
        const credits = yield* startProcess
        const first = call(0, once("key"))
        yield* credits.admit(organization, first)
        yield* Effect.flip(credits.admit(organization, call(0, once("key"))))
        yield* Effect.flip(credits.admit(organization, call(0, once("key", "another request"))))
        yield* credits.settle(organization, { operationId: first.operationId, usedMicro: 0, response: "1" })
        const { rateLimits } = yield* credits.admit(organization, call(0, once("key")))
        assert.strictEqual(rateLimits.minute.remaining, 1)
      })
    )

    it.effect("takes any text as an idempotency key, without harm to calls that come along", () =>
      Effect.gen(function* () {
        const { organization } = yield* openAccount(yield* ledgersOf)
        const credits = yield* startProcess
        for (const key of ["'; --", "\ud800", "\u{1f600} \\u0000", "x".repeat(255)]) {
          const first = call(1, once(key))
          const results = yield* inParallel(2, (index) => credits.admit(organization, index === 0 ? first : call(1)))
          assert.deepStrictEqual(failuresOf(results), [])
          yield* credits.settle(organization, { operationId: first.operationId, usedMicro: 1, response: `"${key}"` })
          const { replay } = yield* credits.admit(organization, call(1, once(key)))
          assert.isTrue(Option.isSome(replay))
        }
      })
    )

    it.effect("runs again what ended without an answer to keep", () =>
      Effect.gen(function* () {
        const { organization } = yield* openAccount(yield* ledgersOf)
        const credits = yield* startProcess
        const first = call(10, once("key"))
        yield* credits.admit(organization, first)
        yield* credits.settle(organization, { operationId: first.operationId, usedMicro: 0 })
        assert.deepStrictEqual((yield* credits.admit(organization, call(10, once("key")))).replay, Option.none())
      })
    )

    it.effect("does not keep an answer beyond 10 MiB", () =>
      Effect.gen(function* () {
        const { organization } = yield* openAccount(yield* ledgersOf)
        const credits = yield* startProcess
        const large = call(10, once("large"))
        yield* credits.admit(organization, large)
        const response = "x".repeat(10 * 1024 * 1024 + 1)
        yield* credits.settle(organization, { operationId: large.operationId, usedMicro: 10, response })
        assert.deepStrictEqual((yield* credits.admit(organization, call(10, once("large")))).replay, Option.none())
      })
    )

    it.effect("holds and charges an operation once, however often it is admitted and settled", () =>
      Effect.gen(function* () {
        const { organization, snapshot } = yield* openAccount(yield* ledgersOf)
        const credits = yield* startProcess
        const paid = call(10)
        const settlement = { operationId: paid.operationId, usedMicro: 4 }
        const answers = yield* inParallel(3, () => credits.admit(organization, paid))
        assert.deepStrictEqual(failuresOf(answers), [])
        assert.strictEqual((yield* snapshot).heldMicro, 10)
        assert.strictEqual((yield* credits.rateLimits(organization, keyId)).minute.remaining, 999)
        const charged = yield* inParallel(3, () => credits.settle(organization, settlement))
        assert.deepStrictEqual(charged, [Result.succeed(4), Result.succeed(4), Result.succeed(4)])
        yield* credits.admit(organization, paid)
        assert.strictEqual(yield* credits.settle(organization, settlement), 4)
        const { charges, heldMicro } = yield* snapshot
        assert.deepStrictEqual([heldMicro, charges], [0, [[paid.operationId, 4]]])
      })
    )

    it.effect("keeps the holds of a live process, and releases those of a dead one with their keys", () =>
      Effect.gen(function* () {
        const { organization, snapshot } = yield* openAccount(yield* ledgersOf)
        const store = yield* AccountStore
        const live = yield* startProcess
        const ofLive = call(10)
        yield* live.admit(organization, ofLive)
        const ofDead = call(5, once("key"))
        yield* Effect.scoped(Effect.flatMap(startProcess, (dead) => dead.admit(organization, ofDead)))
        for (let seconds = 0; seconds < 60; seconds += 5) {
          yield* TestClock.adjust("5 seconds")
          // What the processes ask for at this moment was asked for before this, and is answered by the end of it.
          yield* Effect.forEach(Array.from({ length: 25 }), () => store.check)
        }
        assert.deepStrictEqual((yield* snapshot).holds, [[ofLive.operationId, 10]])
        assert.strictEqual(yield* live.settle(organization, { operationId: ofDead.operationId, usedMicro: 5 }), 0)
        assert.isTrue(Exit.isSuccess(yield* Effect.exit(live.admit(organization, call(5, once("key"))))))
      })
    )
  })

/** The store in memory, and the operations whose holds it was asked to extend last. */
const layerRecordingStore = (extended: { ids: ReadonlyArray<OperationId> }) =>
  Layer.effect(
    AccountStore,
    Effect.map(AccountStore, (store) =>
      AccountStore.of({
        ...store,
        extendHolds: (ids, life) => {
          extended.ids = ids
          return store.extendHolds(ids, life)
        }
      })
    )
  ).pipe(Layer.provideMerge(layerMemoryStore))

describe("Credits in memory", () => {
  define(layerMemoryStore, memoryLedgers)

  const extended = { ids: [] as ReadonlyArray<OperationId> }
  layer(layerRecordingStore(extended))((it) => {
    it.effect("keep alive what runs, and nothing that has no hold or ended", () =>
      Effect.gen(function* () {
        const { organization } = yield* openAccount(yield* memoryLedgers)
        const credits = yield* startProcess
        const [running, ended, free] = [call(10), call(10), call(0)]
        for (const each of [running, ended, free]) yield* credits.admit(organization, each)
        yield* credits.settle(organization, { operationId: ended.operationId, usedMicro: 1 })
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(extended.ids, [running.operationId])
      })
    )
  })
})

describeDrivers("Credits", (driver) => {
  define(layerSqlStore.pipe(Layer.provideMerge(driver.layer)), sqlLedgers)
})
