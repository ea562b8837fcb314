import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "vitest"
import { KeyId } from "../../src/domain/Ids.ts"
import { KeyStore } from "../../src/store/KeyStore.ts"
import { acme, describeKeyStores, keyOf, never, other, root, unbounded, until } from "../support/KeyStores.ts"

const reasonOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => ("reason" in error ? error.reason : error._tag))

const inSeconds = (seconds: number) => Option.some(new Date(seconds * 1000))

describeKeyStores("KeyStore", (test) => {
  test(
    "finds a key until it expires, and says how long that is",
    Effect.gen(function* () {
      const store = yield* KeyStore
      yield* store.create(keyOf("a"), until(inSeconds(10)), root)
      const found = Option.getOrThrow(yield* store.find(KeyId.make("a")))
      assert.deepStrictEqual(
        { ...found, secretHmac: [...found.secretHmac] },
        { ...keyOf("a"), endsInMs: 10_000, secretHmac: [...keyOf("a").secretHmac] }
      )
      yield* TestClock.adjust("9999 millis")
      assert.strictEqual(Option.getOrThrow(yield* store.find(KeyId.make("a"))).endsInMs, 1)
      yield* TestClock.adjust("1 millis")
      assert.isTrue(Option.isNone(yield* store.find(KeyId.make("a"))))
      assert.strictEqual(Option.getOrThrow(yield* store.details(KeyId.make("a"))).status, "expired")
      assert.strictEqual(yield* reasonOf(store.create(keyOf("b"), until(inSeconds(10)), root)), "expiry_past")
      assert.isTrue(Option.isNone(yield* store.details(KeyId.make("b"))))
    })
  )

  test(
    "lets a rotated key work to the end of its overlap, and its successor as long as the key would have",
    Effect.gen(function* () {
      const store = yield* KeyStore
      const bounds = { ...until(inSeconds(1000)), perMinute: Option.some(7) }
      yield* store.create(keyOf("old", ["manage"]), bounds, root)
      const settings = { expiresAt: never, overlapSeconds: 60 }
      const successor = yield* store.rotate(KeyId.make("old"), keyOf("new", ["manage"]), settings, root)
      assert.deepInclude(successor, {
        rotatedFrom: KeyId.make("old"),
        scopes: ["manage"],
        perMinute: 7,
        status: "active"
      })
      assert.strictEqual(successor.expiresAt?.getTime(), 1_000_000)
      yield* TestClock.adjust("59999 millis")
      assert.isTrue(Option.isSome(yield* store.find(KeyId.make("old"))))
      yield* TestClock.adjust("1 millis")
      assert.isTrue(Option.isNone(yield* store.find(KeyId.make("old"))))
      assert.isTrue(Option.isSome(yield* store.find(KeyId.make("new"))))
    })
  )

  test(
    "never lets an overlap prolong a key, and ends it at once without one",
    Effect.gen(function* () {
      const store = yield* KeyStore
      yield* store.create(keyOf("short"), until(inSeconds(5)), root)
      yield* store.rotate(KeyId.make("short"), keyOf("s2"), { expiresAt: inSeconds(99), overlapSeconds: 60 }, root)
      assert.strictEqual(Option.getOrThrow(yield* store.find(KeyId.make("short"))).endsInMs, 5000)
      yield* store.create(keyOf("long"), unbounded, root)
      yield* store.rotate(KeyId.make("long"), keyOf("l2"), { expiresAt: never, overlapSeconds: 0 }, root)
      assert.isTrue(Option.isNone(yield* store.find(KeyId.make("long"))))
    })
  )

  test(
    "rotates a key once, and no key that ended",
    Effect.gen(function* () {
      const store = yield* KeyStore
      const settings = { expiresAt: never, overlapSeconds: 60 }
      yield* store.create(keyOf("a"), unbounded, root)
      yield* store.rotate(KeyId.make("a"), keyOf("b"), settings, root)
      assert.strictEqual(yield* reasonOf(store.rotate(KeyId.make("a"), keyOf("c"), settings, root)), "already_rotated")
      yield* store.revoke(keyOf("b"), root)
      assert.strictEqual(yield* reasonOf(store.rotate(KeyId.make("b"), keyOf("c"), settings, root)), "not_active")
      assert.strictEqual(yield* reasonOf(store.rotate(KeyId.make("z"), keyOf("c"), settings, root)), "not_found")
      assert.deepStrictEqual(
        (yield* store.list(acme)).map(({ id }) => id as string),
        ["a", "b"]
      )
    })
  )

  test(
    "keeps the time of the first revocation",
    Effect.gen(function* () {
      const store = yield* KeyStore
      yield* store.create(keyOf("a"), unbounded, root)
      yield* TestClock.adjust("3 seconds")
      assert.deepInclude(yield* store.revoke(keyOf("a"), root), { status: "revoked", revokedAt: new Date(3000) })
      yield* TestClock.adjust("3 seconds")
      assert.deepInclude(yield* store.revoke(keyOf("a"), root), { status: "revoked", revokedAt: new Date(3000) })
      assert.isTrue(Option.isNone(yield* store.find(KeyId.make("a"))))
      assert.strictEqual(yield* reasonOf(store.revoke(keyOf("z"), root)), "not_found")
    })
  )

  test(
    "refuses to let the last key revoke itself that could go on managing keys",
    Effect.gen(function* () {
      const store = yield* KeyStore
      const admin = { keyId: KeyId.make("admin"), organizationId: acme }
      yield* store.create(keyOf("admin", ["admin"]), unbounded, root)
      yield* store.create(keyOf("user", ["invoke", "manage"]), unbounded, admin)
      yield* store.create(keyOf("brief", ["admin"]), until(inSeconds(60)), admin)
      yield* store.create(keyOf("elsewhere", ["admin"], other), unbounded, root)
      assert.strictEqual(yield* reasonOf(store.revoke(keyOf("admin"), admin)), "last_admin")
      assert.isTrue(Option.isSome(yield* store.find(KeyId.make("admin"))))
      yield* store.create(keyOf("second", ["admin"]), unbounded, admin)
      yield* store.revoke(keyOf("admin"), admin)
      assert.isTrue(Option.isNone(yield* store.find(KeyId.make("admin"))))
    })
  )

  test(
    "refuses changes by a key that ended, of any organization",
    Effect.gen(function* () {
      const store = yield* KeyStore
      const admin = { keyId: KeyId.make("admin"), organizationId: acme }
      const settings = { expiresAt: never, overlapSeconds: 60 }
      yield* store.create(keyOf("admin", ["admin"]), until(inSeconds(60)), root)
      yield* store.create(keyOf("user"), unbounded, admin)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* reasonOf(store.create(keyOf("late"), unbounded, admin)), "actor_ended")
      assert.strictEqual(
        yield* reasonOf(store.rotate(KeyId.make("user"), keyOf("late"), settings, admin)),
        "actor_ended"
      )
      assert.strictEqual(yield* reasonOf(store.revoke(keyOf("user"), admin)), "actor_ended")
      assert.isTrue(Option.isNone(yield* store.details(KeyId.make("late"))))
    })
  )

  test(
    "lists the keys of one organization, the latest first, without anything of their secrets",
    Effect.gen(function* () {
      const store = yield* KeyStore
      for (const id of ["a", "b", "c"]) {
        yield* store.create(keyOf(id), unbounded, root)
        yield* TestClock.adjust("1 second")
      }
      const listed = yield* store.list(acme)
      assert.deepStrictEqual(
        listed.map(({ createdAt, id }) => [id as string, createdAt.getTime()]),
        [
          ["c", 2000],
          ["b", 1000],
          ["a", 0]
        ]
      )
      assert.notInclude(Object.keys(listed[0]!), "secretHmac")
    })
  )

  test(
    "notes when keys were used, each at most once a minute",
    Effect.gen(function* () {
      const store = yield* KeyStore
      const lastUse = (id: string) =>
        Effect.map(store.details(KeyId.make(id)), (key) => Option.getOrThrow(key).lastUsedAt?.getTime())
      yield* store.create(keyOf("a"), unbounded, root)
      yield* store.create(keyOf("b"), unbounded, root)
      yield* TestClock.adjust("100 seconds")
      yield* store.noteUse([
        { id: KeyId.make("a"), agoMs: 30_000 },
        { id: KeyId.make("unknown"), agoMs: 0 }
      ])
      assert.deepStrictEqual([yield* lastUse("a"), yield* lastUse("b")], [70_000, undefined])
      yield* store.noteUse([{ id: KeyId.make("a"), agoMs: 0 }])
      assert.strictEqual(yield* lastUse("a"), 70_000)
      yield* TestClock.adjust("30 seconds")
      yield* store.noteUse([{ id: KeyId.make("a"), agoMs: 0 }])
      assert.strictEqual(yield* lastUse("a"), 130_000)
    })
  )

  test(
    "puts a chosen key in place of one of the same id, whatever became of that",
    Effect.gen(function* () {
      const store = yield* KeyStore
      yield* store.create(keyOf("a"), until(inSeconds(60)), root)
      yield* store.revoke(keyOf("a"), root)
      yield* store.put({ ...keyOf("a"), scopes: ["admin"] })
      assert.deepInclude(Option.getOrThrow(yield* store.find(KeyId.make("a"))), { scopes: ["admin"], endsInMs: null })
    })
  )
})
