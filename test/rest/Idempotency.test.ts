import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Gateway, layerGateway, type Tenant } from "../support/Gateway.ts"
import { VendorMock, vendorSettings } from "../support/Vendors.ts"

const GatewayOnMock = Layer.unwrap(Effect.map(VendorMock, ({ url }) => layerGateway(vendorSettings(url)))).pipe(
  Layer.provideMerge(VendorMock.layer)
)

const post = Effect.fnUntraced(function* (tenant: Tenant, key: string, body: unknown, path = "/v1/generate") {
  const gateway = yield* Gateway
  return yield* gateway.request(path, { key: tenant.key, body, headers: { "idempotency-key": key } })
})

const mutate = Effect.fnUntraced(function* (tenant: Tenant, idempotencyKey: string, prompt: string) {
  const gateway = yield* Gateway
  const query =
    "mutation ($input: GenerateInput!, $key: String) { generate(input: $input, idempotencyKey: $key) { text creditsUsed } }"
  return yield* gateway.graphql(tenant, query, { input: { prompt }, key: idempotencyKey })
})

/** A vendor that counts how often it was asked for `prompt`. */
const answering = Effect.fnUntraced(function* (prompt: string) {
  const mock = yield* VendorMock
  mock.onMessage(prompt, {
    content: "Once.",
    usage: { prompt_tokens: 400, completion_tokens: 600, total_tokens: 1000 }
  })
  return () => mock.getRequests().filter(({ body }) => JSON.stringify(body).includes(prompt)).length
})

layer(GatewayOnMock)("Idempotency keys", (it) => {
  it.effect("answer a repeated call from the first one: same body, marked, no second run and no second charge", () =>
    Effect.gen(function* () {
      const gateway = yield* Gateway
      const asked = yield* answering("repeat me")
      const tenant = yield* gateway.tenant()
      const first = yield* post(tenant, "a", { prompt: "repeat me" })
      const second = yield* post(tenant, "a", { prompt: "repeat me" })
      assert.strictEqual(first.status, 200)
      assert.isNull(first.headers.get("idempotent-replayed"))
      assert.strictEqual(second.headers.get("idempotent-replayed"), "true")
      assert.deepStrictEqual(second.json, first.json)
      assert.strictEqual(asked(), 1)
      assert.deepInclude(yield* gateway.account(tenant), { posted: 500_000, charges: 500_000, held: 0 })
    })
  )

  it.effect("run once and charge once when sent 50 times at the same time", () =>
    Effect.gen(function* () {
      const gateway = yield* Gateway
      const asked = yield* answering("all at once")
      const tenant = yield* gateway.tenant()
      const answers = yield* Effect.all(
        Array.from({ length: 50 }, () => post(tenant, "a", { prompt: "all at once" })),
        { concurrency: "unbounded" }
      )
      for (const { headers, json, status } of answers) {
        if (status === 200) continue
        assert.strictEqual(status, 409)
        assert.strictEqual(json.error.code, "idempotency_in_progress")
        assert.isNotNull(headers.get("retry-after"))
      }
      assert.isNotEmpty(answers.filter(({ status }) => status === 200))
      assert.strictEqual(asked(), 1)
      assert.deepInclude(yield* gateway.account(tenant), { posted: 500_000, held: 0 })
    })
  )

  it.effect("refuse another body or another operation under the same key", () =>
    Effect.gen(function* () {
      const gateway = yield* Gateway
      yield* answering("first body")
      const tenant = yield* gateway.tenant()
      yield* post(tenant, "a", { prompt: "first body" })
      const others = [
        yield* post(tenant, "a", { prompt: "another body" }),
        yield* post(tenant, "a", { texts: ["a"], model: { provider: "local" } }, "/v1/embed")
      ]
      for (const { json, status } of others) {
        assert.strictEqual(status, 422)
        assert.strictEqual(json.error.code, "idempotency_mismatch")
      }
      assert.deepInclude(yield* gateway.account(tenant), { posted: 500_000, held: 0 })
    })
  )

  it.effect("let a call run again that failed in a way that may pass, and repeat a failure that would come again", () =>
    Effect.gen(function* () {
      const gateway = yield* Gateway
      const mock = yield* VendorMock
      mock.onMessage("fails at first", { error: { message: "no", type: "invalid_api_key" }, status: 401 })
      const tenant = yield* gateway.tenant()
      const failed = yield* post(tenant, "a", { prompt: "fails at first" })
      assert.strictEqual(failed.json.error.code, "provider_error")
      const again = yield* post(tenant, "a", { prompt: "fails at first" })
      assert.isNull(again.headers.get("idempotent-replayed"))

      const search = { collection: "none", query: "a" }
      const missing = yield* post(tenant, "b", search, "/v1/search")
      assert.strictEqual(missing.status, 404)
      yield* gateway.request("/v1/index", {
        key: tenant.key,
        body: { collection: "none", documents: [{ id: "1", content: "a" }], model: { provider: "local" } }
      })
      const repeated = yield* post(tenant, "b", search, "/v1/search")
      assert.strictEqual(repeated.headers.get("idempotent-replayed"), "true")
      assert.deepInclude(repeated.json.error, { code: "collection_not_found", status: 404 })
    })
  )

  it.effect("mean another call on the other surface and in another organization", () =>
    Effect.gen(function* () {
      const gateway = yield* Gateway
      const asked = yield* answering("whose key")
      const [mine, theirs] = [yield* gateway.tenant(), yield* gateway.tenant()]
      yield* post(mine, "a", { prompt: "whose key" })
      const first = yield* mutate(mine, "a", "whose key")
      const second = yield* mutate(mine, "a", "whose key")
      yield* post(theirs, "a", { prompt: "whose key" })
      assert.strictEqual(first.json.data.generate.creditsUsed, 0.5, first.text)
      assert.deepStrictEqual(second.json, first.json)
      assert.strictEqual(second.headers.get("idempotent-replayed"), "true")
      assert.strictEqual(asked(), 3)
      assert.deepInclude(yield* gateway.account(mine), { posted: 1_000_000, held: 0 })
      assert.deepInclude(yield* gateway.account(theirs), { posted: 500_000, held: 0 })
    })
  )

  it.effect("are not counted against the rate limit when they repeat", () =>
    Effect.gen(function* () {
      const gateway = yield* Gateway
      yield* answering("counted once")
      const tenant = yield* gateway.tenant({ perMinute: 1 })
      for (let i = 0; i < 3; i++) {
        assert.strictEqual((yield* post(tenant, "a", { prompt: "counted once" })).status, 200)
      }
    })
  )

  it.effect("have 1 to 255 characters", () =>
    Effect.gen(function* () {
      const gateway = yield* Gateway
      yield* answering("any key")
      const tenant = yield* gateway.tenant()
      const tooLong = yield* post(tenant, "a".repeat(256), { prompt: "any key" })
      assert.strictEqual(tooLong.status, 400)
      assert.strictEqual(tooLong.json.error.details[0].path, "Idempotency-Key")
      const overGraphQl = yield* mutate(tenant, "", "any key")
      const halfACharacter = yield* mutate(tenant, "\ud800", "any key")
      assert.strictEqual(halfACharacter.json.errors[0].extensions.code, "validation_failed")
      assert.strictEqual(overGraphQl.json.errors[0].extensions.details[0].path, "idempotencyKey")
      assert.strictEqual((yield* post(tenant, "a".repeat(255), { prompt: "any key" })).status, 200)
    })
  )
})
