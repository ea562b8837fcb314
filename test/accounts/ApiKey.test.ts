import { assert, describe, it } from "@effect/vitest"
import { Option, Redacted } from "effect"
import fc from "fast-check"
import * as ApiKey from "../../src/accounts/ApiKey.ts"

const text = () => Redacted.value(ApiKey.generate())
const idOf = (key: string) => Option.getOrUndefined(ApiKey.keyId(Redacted.make(key)))

describe("ApiKey", () => {
  it("makes keys of the documented form, no two alike", () => {
    const keys = Array.from({ length: 1000 }, text)
    for (const key of keys) assert.match(key, /^sl_[0-9A-Za-z]{12}_[0-9A-Za-z]{32}[0-9a-f]{8}$/)
    assert.strictEqual(new Set(keys).size, keys.length)
  })

  it("finds the id of its own keys", () => {
    const key = text()
    assert.strictEqual(idOf(key), key.slice(3, 15))
  })

  it("refuses a key with any one character mistyped", () => {
    fc.assert(
      fc.property(fc.nat({ max: 55 }), fc.constantFrom(..."0aZ-_ "), (position, character) => {
        const key = text()
        const mistyped = key.slice(0, position) + character + key.slice(position + 1)
        fc.pre(mistyped !== key && mistyped.startsWith("sl_"))
        assert.isUndefined(idOf(mistyped))
      })
    )
  })

  it("lets operators choose a key of their own form, but none that is short or has spaces", () => {
    assert.strictEqual(idOf("my-own-key-for-tests"), "bootstrap")
    assert.isUndefined(idOf("short"))
    assert.isUndefined(idOf("a key that has spaces"))
    assert.isUndefined(idOf(""))
  })

  it("stores another HMAC under another secret, and matches only the same one", () => {
    const key = ApiKey.generate()
    const pepper = Redacted.make(Buffer.from("pepper"))
    const stored = ApiKey.hmac(key, pepper)
    assert.isTrue(ApiKey.matches(stored, ApiKey.hmac(key, pepper)))
    assert.isFalse(ApiKey.matches(stored, ApiKey.hmac(key, Redacted.make(Buffer.from("salt")))))
    assert.isFalse(ApiKey.matches(stored, ApiKey.hmac(ApiKey.generate(), pepper)))
    assert.isFalse(ApiKey.matches(stored, new Uint8Array(0)))
  })
})
