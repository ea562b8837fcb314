import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Redacted, Result, Schedule } from "effect"
import { Reactivity } from "effect/reactivity"
import { Credits } from "../../src/accounts/Credits.ts"
import { KeyId, OperationId, OrganizationId } from "../../src/domain/Ids.ts"
import { AccountStore } from "../../src/store/AccountStore.ts"
import { layerFrom } from "../../src/store/Database.ts"
import { connectPostgres } from "../../src/store/PostgresDatabase.ts"
import { createTestDatabase } from "../support/Database.ts"
import { startFaultyNetwork } from "../support/FaultyNetwork.ts"
import { sqlLedgers } from "../support/Ledgers.ts"

/** Once it is known that the database is away, a call is refused without asking it. */
const AT_ONCE = Duration.millis(800)

const organization = OrganizationId.make("acme")

const call = (boundMicro = 10) => ({
  operationId: OperationId.make(randomUUID()),
  operation: "test",
  keyId: KeyId.make("key"),
  boundMicro
})

/** A gateway's credits on a database behind a network that can fail, and a view of the account past the network. */
const start = Effect.gen(function* () {
  const url = yield* createTestDatabase
  const network = yield* startFaultyNetwork(url)
  const ledgers = yield* Effect.provide(
    sqlLedgers,
    yield* Layer.build(layerFrom("postgres", connectPostgres(Redacted.make(url.href), 1)))
  )
  yield* ledgers.open(organization, { grantedMicro: 1000, perMinute: 1000, perDay: 1000, keyLimits: new Map() })
  const throughNetwork = new URL(url)
  throughNetwork.port = String(network.port)
  const database = layerFrom("postgres", connectPostgres(Redacted.make(throughNetwork.href), 4))
  const credits = yield* Effect.provide(
    Credits,
    yield* Layer.build(Credits.layer.pipe(Layer.provide(AccountStore.layer), Layer.provide(database)))
  )
  return { network, credits, snapshot: ledgers.snapshot(organization, Date.now()) }
}).pipe(Effect.provide(Reactivity.layer))

const tagOf = <A, E extends { readonly _tag: string }>(result: Result.Result<A, E>) =>
  Result.isFailure(result) ? result.failure._tag : "Success"

const refusedAtOnce = Effect.fnUntraced(function* (credits: Credits["Service"]) {
  const calls = Array.from({ length: 100 }, () => Effect.result(credits.admit(organization, call())))
  const [elapsed, results] = yield* Effect.timed(Effect.all(calls, { concurrency: "unbounded" }))
  assert.deepStrictEqual([...new Set(results.map(tagOf))], ["StoreUnavailable"])
  assert.isTrue(Duration.isLessThan(elapsed, AT_ONCE), `took ${Duration.format(elapsed)}`)
})

const comesBack = (credits: Credits["Service"]) =>
  Effect.retry(credits.admit(organization, call(1)), {
    schedule: Schedule.max([Schedule.spaced("50 millis"), Schedule.recurs(100)])
  })

describe("A database that fails", () => {
  it.live("between COMMIT and its answer has held and charged once", () =>
    Effect.gen(function* () {
      const { credits, network, snapshot } = yield* start
      const paid = call()
      network.loseNextAnswer()
      yield* credits.admit(organization, paid)
      assert.deepStrictEqual((yield* snapshot).holds, [[paid.operationId, 10]])
      network.loseNextAnswer()
      assert.strictEqual(yield* credits.settle(organization, { operationId: paid.operationId, usedMicro: 7 }), 7)
      const { charges, heldMicro, postedMicro } = yield* snapshot
      assert.deepStrictEqual([charges, heldMicro, postedMicro], [[[paid.operationId, 7]], 0, 7])
      assert.strictEqual((yield* credits.rateLimits(organization, paid.keyId)).minute.remaining, 999)
    })
  )

  it.live("by refusing connections gets calls refused at once, serves nothing for free and is back by itself", () =>
    Effect.gen(function* () {
      const { credits, network, snapshot } = yield* start
      const running = call()
      yield* credits.admit(organization, running)
      network.refuse()
      yield* Effect.flip(credits.admit(organization, call()))
      yield* refusedAtOnce(credits)
      assert.deepStrictEqual((yield* snapshot).holds, [[running.operationId, 10]])
      network.recover()
      yield* comesBack(credits)
      assert.strictEqual(yield* credits.settle(organization, { operationId: running.operationId, usedMicro: 7 }), 7)
    })
  )

  it.live("while a call is settled delays the charge, and does not lose it", () =>
    Effect.gen(function* () {
      const { credits, network, snapshot } = yield* start
      const paid = call()
      yield* credits.admit(organization, paid)
      network.refuse()
      const settle = credits.settle(organization, { operationId: paid.operationId, usedMicro: 7 })
      const recover = Effect.andThen(
        Effect.flip(credits.admit(organization, call())),
        Effect.sync(() => network.recover())
      )
      const [charged] = yield* Effect.all([settle, recover], { concurrency: "unbounded" })
      assert.strictEqual(charged, 7)
      assert.deepStrictEqual((yield* snapshot).charges, [[paid.operationId, 7]])
    })
  )

  it.live("by falling silent gets calls refused at once after one time-out, and is back by itself", () =>
    Effect.gen(function* () {
      const { credits, network, snapshot } = yield* start
      network.fallSilent()
      const [elapsed] = yield* Effect.timed(Effect.flip(credits.admit(organization, call())))
      assert.isTrue(Duration.isLessThan(elapsed, Duration.seconds(8)), `took ${Duration.format(elapsed)}`)
      yield* refusedAtOnce(credits)
      assert.deepStrictEqual((yield* snapshot).holds, [])
      network.recover()
      yield* comesBack(credits)
    })
  )
})
