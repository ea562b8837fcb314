import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { KeyId, OperationId, OrganizationId } from "../../src/domain/Ids.ts"
import { AccountStore } from "../../src/store/AccountStore.ts"
import { KeyStore } from "../../src/store/KeyStore.ts"
import { type LedgerFilter, LedgerStore } from "../../src/store/LedgerStore.ts"
import { MemoryAccounts } from "../../src/store/MemoryAccounts.ts"
import { OrganizationStore } from "../../src/store/OrganizationStore.ts"
import { describeDrivers, layerVirtualTime } from "../support/Database.ts"

/** Organizations, what is charged to them and how the ledger tells it: one contract in memory and on every database. */

type Stores = AccountStore | KeyStore | LedgerStore | OrganizationStore

const inMemory = Layer.mergeAll(AccountStore.layerMemory, LedgerStore.layerMemory, OrganizationStore.layerMemory).pipe(
  Layer.provideMerge(KeyStore.layerMemory),
  Layer.provide(MemoryAccounts.layer)
)

const onDatabase = Layer.mergeAll(AccountStore.layer, KeyStore.layer, LedgerStore.layer, OrganizationStore.layer).pipe(
  Layer.provide(layerVirtualTime)
)

const acme = OrganizationId.make("acme")
const nobody = OrganizationId.make("nobody")
const keyId = KeyId.make("first")
const everything: LedgerFilter = { kind: null, operation: null, from: null, to: null }
const DAY_MS = 86_400_000

const create = Effect.flatMap(OrganizationStore, (organizations) =>
  organizations.create({
    id: acme,
    name: "Acme",
    grantedMicro: 1000,
    key: { id: keyId, name: "first", secretHmac: new Uint8Array(32), scopes: ["invoke"] }
  })
)

const charge = Effect.fnUntraced(function* (id: string, operation: string, usedMicro: number, model?: string) {
  const accounts = yield* AccountStore
  const operationId = OperationId.make(id)
  const terms = { holdSeconds: 30, defaultLimits: { perMinute: 100, perDay: 100 } }
  const call = { operationId, operation, keyId, boundMicro: usedMicro }
  yield* accounts.commit(acme, { settlements: [], admissions: [call] }, terms)
  const settlement = { operationId, usedMicro, ...(model === undefined ? {} : { model }) }
  yield* accounts.commit(acme, { settlements: [settlement], admissions: [] }, terms)
})

const reasonOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E, OrganizationStore>) =>
  Effect.map(Effect.flip(effect), (error) => ("reason" in error ? error.reason : error._tag))

const contract: ReadonlyArray<readonly [name: string, test: Effect.Effect<void, unknown, Stores>]> = [
  [
    "makes an organization once, with its credits and its key",
    Effect.gen(function* () {
      const organizations = yield* OrganizationStore
      assert.isFalse(yield* organizations.exists(acme))
      assert.isTrue(yield* create)
      assert.isFalse(yield* create)
      assert.isTrue(yield* organizations.exists(acme))
      assert.isTrue(Option.isSome(yield* (yield* KeyStore).find(keyId)))
      assert.strictEqual((yield* (yield* AccountStore).balance(acme)).grantedMicro, 1000)
    })
  ],
  [
    "grants once for each id, and refuses what does not fit",
    Effect.gen(function* () {
      const organizations = yield* OrganizationStore
      yield* create
      const id = OperationId.make("invoice-1")
      yield* organizations.grant(acme, id, 500)
      yield* organizations.grant(acme, id, 500)
      assert.strictEqual((yield* (yield* AccountStore).balance(acme)).grantedMicro, 1500)
      assert.strictEqual(yield* reasonOf(organizations.grant(acme, id, 501)), "grant_mismatch")
      const huge = organizations.grant(acme, OperationId.make("invoice-2"), 9_000_000_000_000_000)
      assert.strictEqual(yield* reasonOf(huge), "too_many_credits")
      assert.strictEqual(yield* reasonOf(organizations.grant(nobody, id, 1)), "not_found")
    })
  ],
  [
    "sets limits, and takes them back",
    Effect.gen(function* () {
      const organizations = yield* OrganizationStore
      const accounts = yield* AccountStore
      yield* create
      const limit = Effect.map(
        accounts.rateLimits(acme, keyId, { perMinute: 60, perDay: 100 }),
        ({ minute }) => minute.limit
      )
      assert.strictEqual(yield* limit, 60)
      yield* organizations.setLimits(acme, { perMinute: 5, perDay: null })
      assert.strictEqual(yield* limit, 5)
      yield* organizations.setLimits(acme, { perMinute: null, perDay: null })
      assert.strictEqual(yield* limit, 60)
      assert.strictEqual(yield* reasonOf(organizations.setLimits(nobody, { perMinute: 1, perDay: 1 })), "not_found")
    })
  ],
  [
    "pages through the ledger, the newest first, by kind, operation and time",
    Effect.gen(function* () {
      const ledger = yield* LedgerStore
      yield* create
      yield* charge("a", "embed", 10)
      yield* TestClock.adjust(DAY_MS)
      yield* charge("b", "search", 20)
      const ids = (filter: Partial<LedgerFilter>, before: number | null = null, limit = 10) =>
        Effect.map(ledger.page(acme, { ...everything, ...filter }, before, limit), (page) =>
          page.map(({ operationId }) => operationId as string)
        )
      assert.deepStrictEqual(yield* ids({}), ["b", "a", "grant/acme/initial"])
      assert.deepStrictEqual(yield* ids({ kind: "charge" }, null, 1), ["b"])
      const [newest] = yield* ledger.page(acme, everything, null, 1)
      assert.deepStrictEqual(yield* ids({}, newest!.id, 1), ["a"])
      assert.deepStrictEqual(yield* ids({ operation: "embed" }), ["a"])
      assert.deepStrictEqual(yield* ids({ from: new Date(DAY_MS) }), ["b"])
      assert.deepStrictEqual(yield* ids({ kind: "charge", to: new Date(DAY_MS) }), ["a"])
      assert.deepStrictEqual(yield* ledger.page(nobody, everything, null, 1), [])
    })
  ],
  [
    "adds usage up by day, operation and model",
    Effect.gen(function* () {
      yield* create
      yield* charge("a", "embed", 10, "local/lexical")
      yield* charge("b", "embed", 5, "local/lexical")
      yield* charge("c", "embed", 1)
      yield* TestClock.adjust(DAY_MS)
      yield* charge("d", "search", 20)
      const rows = yield* (yield* LedgerStore).usage(acme, new Date(0), new Date(3 * DAY_MS))
      assert.deepStrictEqual(rows, [
        { day: "1970-01-02", operation: "search", model: null, charges: 1, usedMicro: 20 },
        { day: "1970-01-01", operation: "embed", model: "local/lexical", charges: 2, usedMicro: 15 },
        { day: "1970-01-01", operation: "embed", model: null, charges: 1, usedMicro: 1 }
      ])
    })
  ]
]

describe("OrganizationStore and LedgerStore in memory", () => {
  for (const [name, test] of contract) it.effect(name, () => Effect.provide(test, inMemory))
})

describeDrivers("OrganizationStore and LedgerStore", ({ layer: database }) => {
  for (const [name, test] of contract) {
    it.effect(name, () => Effect.provide(test, onDatabase.pipe(Layer.provide(database), Layer.fresh, Layer.orDie)))
  }
})
