import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, MutableRef, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as ApiKey from "../../src/accounts/ApiKey.ts"
import { Authentication } from "../../src/accounts/Authentication.ts"
import { InstallationSecret } from "../../src/accounts/InstallationSecret.ts"
import { Keys } from "../../src/accounts/Keys.ts"
import type { Scope } from "../../src/domain/Account.ts"
import { KeyId, type OrganizationId } from "../../src/domain/Ids.ts"
import { KeyStore } from "../../src/store/KeyStore.ts"
import { caller, unavailable } from "../support/Callers.ts"
import { acme, describeKeyStores, never, other, root, unbounded, until } from "../support/KeyStores.ts"

const pepper = Redacted.make(new TextEncoder().encode("pepper of the tests"))

const callerOf = (keyId: string, scopes: ReadonlyArray<Scope>, organizationId: OrganizationId = acme) => ({
  ...caller(...scopes),
  organizationId,
  keyId: KeyId.make(keyId)
})

const operator = callerOf(root.keyId, ["operator"], other)

/** One process of several on the same database: its own cache, and its own notes of keys used. */
const startProcess = Effect.gen(function* () {
  const context = yield* Layer.build(
    Layer.fresh(Layer.mergeAll(Authentication.layer, Keys.layer)).pipe(
      Layer.provide(Layer.succeed(InstallationSecret, pepper)),
      Layer.provide(Layer.succeed(KeyStore, yield* KeyStore))
    )
  )
  const authentication = Context.get(context, Authentication)
  return {
    keys: Context.get(context, Keys),
    admits: (key: Redacted.Redacted<string>) =>
      Effect.map(Effect.exit(authentication.authenticate(key)), (exit) => Exit.isSuccess(exit))
  }
})

const newKey = { organizationId: acme, name: "key", scopes: ["invoke"] as const, bounds: unbounded }

describeKeyStores("Authentication in two processes", (define) => {
  const test = <E>(
    name: string,
    run: (
      a: Effect.Success<typeof startProcess>,
      b: Effect.Success<typeof startProcess>
    ) => Effect.Effect<void, E, KeyStore>
  ) =>
    define(
      name,
      Effect.gen(function* () {
        yield* run(yield* startProcess, yield* startProcess)
      })
    )

  test("lets a new key work at once in every process, also where it was asked for before it was there", (a, b) =>
    Effect.gen(function* () {
      const store = yield* KeyStore
      const key = ApiKey.generate()
      assert.deepStrictEqual([yield* a.admits(key), yield* b.admits(key)], [false, false])
      const record = { id: Option.getOrThrow(ApiKey.keyId(key)), secretHmac: ApiKey.hmac(key, pepper) }
      yield* store.create({ ...record, organizationId: acme, name: "key", scopes: ["invoke"] }, unbounded, root)
      assert.deepStrictEqual([yield* a.admits(key), yield* b.admits(key)], [true, true])
    }))

  test("ends a revoked key within 5 seconds in every process, however busy the key is", (a, b) =>
    Effect.gen(function* () {
      const { key, secret } = yield* a.keys.create(operator, newKey)
      assert.deepStrictEqual([yield* a.admits(secret), yield* b.admits(secret)], [true, true])
      yield* TestClock.adjust("2900 millis")
      yield* a.keys.revoke(operator, key.id)
      for (let second = 0; second < 5; second++) {
        yield* b.admits(secret)
        yield* TestClock.adjust("1 second")
      }
      assert.deepStrictEqual([yield* a.admits(secret), yield* b.admits(secret)], [false, false])
    }))

  test("lets a rotated key work to the end of its overlap and not a moment longer, its successor from the start", (a, b) =>
    Effect.gen(function* () {
      const old = yield* a.keys.create(operator, newKey)
      const settings = { overlapSeconds: 3600, expiresAt: never }
      const successor = yield* a.keys.rotate(operator, old.key.id, settings)
      assert.isTrue(yield* b.admits(successor.secret))
      yield* TestClock.adjust("3599 seconds")
      assert.deepStrictEqual([yield* a.admits(old.secret), yield* b.admits(old.secret)], [true, true])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([yield* a.admits(old.secret), yield* b.admits(old.secret)], [false, false])
      assert.deepStrictEqual([yield* a.admits(successor.secret), yield* b.admits(successor.secret)], [true, true])
    }))

  test("ends a key at its expiry", (a, b) =>
    Effect.gen(function* () {
      const bounds = until(Option.some(new Date(10_000)))
      const { secret } = yield* a.keys.create(operator, { ...newKey, bounds })
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual([yield* a.admits(secret), yield* b.admits(secret)], [true, true])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([yield* a.admits(secret), yield* b.admits(secret)], [false, false])
    }))

  test("notes the last use of a key within two minutes", (a, b) =>
    Effect.gen(function* () {
      const { key, secret } = yield* a.keys.create(operator, newKey)
      yield* TestClock.adjust("30 seconds")
      yield* a.admits(secret)
      yield* b.admits(secret)
      yield* TestClock.adjust("30 seconds")
      const [noted] = yield* waitFor(a.keys.list(acme), ([listed]) => listed?.lastUsedAt !== null)
      assert.deepStrictEqual([noted?.id, noted?.lastUsedAt?.getTime()], [key.id, 30_000])
    }))

  test("does not write down the secret", (a) =>
    Effect.gen(function* () {
      const { key, secret } = yield* a.keys.create(operator, newKey)
      const found = Option.getOrThrow(yield* (yield* KeyStore).find(key.id))
      const [, , secretPart] = Redacted.value(secret).split("_")
      assert.notInclude(
        JSON.stringify({ ...found, text: Buffer.from(found.secretHmac).toString("latin1") }),
        secretPart!
      )
    }))
})

/** Asks again, as background work comes to its end in its own time, until the answer is there. */
const waitFor = <A, E, R>(effect: Effect.Effect<A, E, R>, isThere: (a: A) => boolean): Effect.Effect<A, E, R> =>
  Effect.flatMap(effect, (a) =>
    isThere(a)
      ? Effect.succeed(a)
      : Effect.andThen(
          Effect.promise(() => new Promise(setImmediate)),
          waitFor(effect, isThere)
        )
  )

describe("Noting the use of keys", () => {
  const counting = Effect.gen(function* () {
    const store = yield* KeyStore
    const writes: Array<number> = []
    const failing = MutableRef.make(false)
    return {
      writes,
      failing,
      store: KeyStore.of({
        ...store,
        noteUse: (uses) =>
          Effect.suspend(() => {
            writes.push(uses.length)
            return MutableRef.get(failing) ? unavailable : store.noteUse(uses)
          })
      })
    }
  }).pipe(Effect.provide(KeyStore.layerMemory))

  it.effect(
    "writes nothing while calls come in, then once a minute for all keys, again after a failure, and at the end",
    () =>
      Effect.gen(function* () {
        const { failing, store, writes } = yield* counting
        const end = yield* Effect.scoped(
          Effect.gen(function* () {
            const { admits } = yield* startProcess
            const secrets = [ApiKey.generate(), ApiKey.generate()]
            for (const key of secrets) {
              const record = { id: Option.getOrThrow(ApiKey.keyId(key)), secretHmac: ApiKey.hmac(key, pepper) }
              yield* store.put({ ...record, organizationId: acme, name: "key", scopes: ["invoke"] })
            }
            const useAll = Effect.forEach(secrets, admits, { discard: true })
            for (let i = 0; i < 50; i++) yield* useAll
            assert.deepStrictEqual(writes, [])
            yield* TestClock.adjust("1 minute")
            assert.deepStrictEqual(writes, [2])
            yield* TestClock.adjust("5 minutes")
            assert.deepStrictEqual(writes, [2])
            MutableRef.set(failing, true)
            yield* useAll
            yield* TestClock.adjust("1 minute")
            MutableRef.set(failing, false)
            yield* TestClock.adjust("1 minute")
            assert.deepStrictEqual(writes, [2, 2, 2])
            yield* useAll
            return writes.length
          }).pipe(Effect.provideService(KeyStore, store))
        )
        assert.deepStrictEqual(writes.slice(end), [2])
      })
  )
})

describeKeyStores("Keys", (test) => {
  test(
    "gives nobody a scope that their own key lacks, neither by making a key nor by rotating one",
    Effect.gen(function* () {
      const { keys } = yield* startProcess
      const made = yield* keys.create(operator, { ...newKey, scopes: ["admin", "invoke"] })
      const strong = yield* keys.create(operator, { ...newKey, scopes: ["operator"] })
      const admin = callerOf(made.key.id, ["admin", "invoke"])
      for (const scope of ["manage", "operator"] as const) {
        const error = yield* Effect.flip(keys.create(admin, { ...newKey, scopes: ["invoke", scope] }))
        assert.deepInclude(error, { _tag: "Forbidden", required: scope })
      }
      const settings = { overlapSeconds: 0, expiresAt: never }
      assert.deepInclude(yield* Effect.flip(keys.rotate(admin, strong.key.id, settings)), { required: "operator" })
      assert.deepInclude(yield* Effect.flip(keys.revoke(admin, strong.key.id)), { required: "operator" })
      const given = yield* keys.create(admin, { ...newKey, scopes: ["invoke", "invoke", "admin"] })
      assert.deepStrictEqual(given.key.scopes, ["invoke", "admin"])
      assert.deepStrictEqual(yield* Effect.map(keys.list(acme), (listed) => listed.length), 3)
    })
  )

  test(
    "shows the keys of other organizations to operators only",
    Effect.gen(function* () {
      const { keys } = yield* startProcess
      const made = yield* keys.create(operator, { ...newKey, organizationId: other, scopes: ["admin"] })
      const mine = yield* keys.create(operator, { ...newKey, scopes: ["admin"] })
      const admin = callerOf(mine.key.id, ["admin"])
      const settings = { overlapSeconds: 0, expiresAt: never }
      assert.deepInclude(yield* Effect.flip(keys.revoke(admin, made.key.id)), { reason: "not_found" })
      assert.deepInclude(yield* Effect.flip(keys.rotate(admin, made.key.id, settings)), { reason: "not_found" })
      assert.strictEqual((yield* keys.revoke(operator, made.key.id)).status, "revoked")
    })
  )
})
