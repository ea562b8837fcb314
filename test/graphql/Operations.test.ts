import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { MICRO_PER_CREDIT } from "../../src/domain/Tariff.ts"
import { startGateway } from "./FakeGateway.ts"

/** Lets other fibers and sockets go on until `condition` holds; the test's own time-out is the bound. */
const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() =>
    condition()
      ? Effect.void
      : Effect.andThen(
          Effect.promise(() => new Promise(setImmediate)),
          until(condition)
        )
  )

describe("GraphQL operations", () => {
  it.effect("generates with the input's fields in camelCase, and answers all fields of the result", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway
      const { data, errors, status } = yield* gateway.post(
        `mutation ($input: GenerateInput!) {
          generate(input: $input) {
            type text finishReason warnings creditsUsed
            model { provider name } usage { promptTokens completionTokens totalTokens }
          }
        }`,
        {
          input: {
            prompt: "hello",
            model: { name: "warning" },
            options: { maxTokens: 7, system: "sys", temperature: 1 }
          }
        }
      )
      assert.deepStrictEqual(errors, [])
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(data, {
        generate: {
          type: "text",
          text: "sys: hello (7)",
          finishReason: "content_filter",
          warnings: ["temperature is ignored"],
          creditsUsed: 0.5,
          model: { provider: "local", name: "warning" },
          usage: { promptTokens: 400, completionTokens: 600, totalTokens: 1000 }
        }
      })
    })
  )

  it.effect("takes null for an optional field as if it were absent", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const { data, errors } = yield* post(
        `mutation ($model: ModelSelectorInput) {
          generate(input: { prompt: "hello", model: $model, options: { maxTokens: null, system: null } }) { text warnings }
        }`,
        { model: null }
      )
      assert.deepStrictEqual(errors, [])
      assert.deepStrictEqual(data, { generate: { text: "plain: hello (100)", warnings: null } })
    })
  )

  it.effect("hands JSON maps on untouched, whatever their keys are", () =>
    Effect.gen(function* () {
      const { post, postText, state } = yield* startGateway
      const metadata = `{"snake_case": {"camelCase": null, "inner_key": [1, {"a_b": true}]}, "constructor": 1, "__proto__": {"x": 2}}`
      const query =
        "mutation ($input: IndexInput!) { index(input: $input) { documentIds documentsIndexed chunksCreated } }"
      const document = `{"id": "1", "content": "text", "metadata": ${metadata}}`
      const { data, errors } = yield* postText(
        `{"query": ${JSON.stringify(query)}, "variables": {"input": {"collection": "papers", "documents": [${document}]}}}`
      )
      assert.deepStrictEqual(errors, [])
      assert.deepStrictEqual(data, { index: { documentIds: ["1"], documentsIndexed: 1, chunksCreated: 2 } })
      const [indexed] = state.indexed as [{ documents: [{ metadata: object }] }]
      assert.strictEqual(JSON.stringify(indexed.documents[0].metadata), JSON.stringify(JSON.parse(metadata)))

      const inline = yield* post(
        `mutation { index(input: { collection: "papers", documents: [{ id: "1", content: "text", metadata: { snake_case: { inner_key: 1 } } }] }) { creditsUsed } }`
      )
      assert.deepStrictEqual(inline.errors, [])
      assert.include(JSON.stringify(state.indexed[1]), '"metadata":{"snake_case":{"inner_key":1}}')

      const found = yield* post(`{ search(query: "q", collection: "papers") { results { metadata } } }`)
      assert.deepStrictEqual(found.data, {
        search: { results: [{ metadata: { title: "One", snake_case: { inner_key: null } } }] }
      })
    })
  )

  it.effect("charges and counts each of fifteen aliased calls on its own", () =>
    Effect.gen(function* () {
      const { post, state } = yield* startGateway
      const calls = Array.from({ length: 15 }, (_, i) => `g${i}: generate(input: { prompt: "p${i}" }) { creditsUsed }`)
      const { data, errors } = yield* post(`mutation { ${calls.join("\n")} }`)
      assert.deepStrictEqual(errors, [])
      assert.strictEqual(Object.keys(data!).length, 15)
      assert.strictEqual(state.charges.length, 15)
      assert.strictEqual(state.spentMicro, 7.5 * MICRO_PER_CREDIT)
      assert.strictEqual(state.remaining, 85)
    })
  )

  it.effect("answers what the pool covers and refuses the rest, within one request", () =>
    Effect.gen(function* () {
      const { post, state } = yield* startGateway
      state.grantedMicro = 1_500_000
      const calls = Array.from({ length: 5 }, (_, i) => `e${i}: embed(input: { texts: ["t"] }) { creditsUsed }`)
      const { data, errors } = yield* post(`mutation { ${calls.join("\n")} }`)
      assert.strictEqual(Object.values(data!).filter((value) => value !== null).length, 3)
      assert.deepStrictEqual(
        errors.map(({ extensions, path }) => [path, extensions["code"]]),
        [
          [["e3"], "insufficient_credits"],
          [["e4"], "insufficient_credits"]
        ]
      )
      assert.strictEqual(state.spentMicro, 1_500_000)
      assert.strictEqual(state.holds.size, 0)
    })
  )

  it.effect("interrupts what runs when the client goes away, charges what it used, and starts nothing more", () =>
    Effect.gen(function* () {
      const { origin, state } = yield* startGateway
      const endless = (name: string) =>
        `${name}: generate(input: { prompt: "${name}", model: { name: "endless" } }) { text }`
      const controller = new AbortController()
      const exchange = fetch(`${origin}/graphql`, {
        method: "POST",
        signal: controller.signal,
        headers: { "content-type": "application/json", authorization: "Bearer key-with-all-scopes" },
        body: JSON.stringify({ query: `mutation { ${endless("first")} ${endless("second")} }` })
      }).catch((error) => error)
      yield* until(() => state.running.has("first"))
      controller.abort()
      yield* Effect.promise(() => exchange)
      yield* until(() => state.running.size === 0 && state.holds.size === 0)
      assert.deepStrictEqual(state.started, ["first"])
      assert.deepStrictEqual(
        state.charges.map(([operation]) => operation),
        ["generate"]
      )
    })
  )

  it.effect("interrupts every one of the queries that run side by side", () =>
    Effect.gen(function* () {
      const { origin, state } = yield* startGateway
      state.searching = "endless"
      const searches = Array.from(
        { length: 5 },
        (_, i) => `s${i}: search(query: "q${i}", collection: "papers") { creditsUsed }`
      )
      const controller = new AbortController()
      const exchange = fetch(`${origin}/graphql`, {
        method: "POST",
        signal: controller.signal,
        headers: { "content-type": "application/json", authorization: "Bearer key-with-all-scopes" },
        body: JSON.stringify({ query: `{ ${searches.join(" ")} }` })
      }).catch((error) => error)
      yield* until(() => state.running.size === 5)
      controller.abort()
      yield* Effect.promise(() => exchange)
      yield* until(() => state.running.size === 0 && state.holds.size === 0)
      assert.strictEqual(state.spentMicro, 0)
    })
  )

  it.effect("ends a call at the deadline that Request-Timeout sets", () =>
    Effect.gen(function* () {
      const { post, state } = yield* startGateway
      const query = `mutation { generate(input: { prompt: "p", model: { name: "endless" } }) { text } }`
      const call = yield* Effect.forkChild(post(query, {}, { headers: { "request-timeout": "5" } }))
      yield* until(() => state.running.has("p"))
      yield* TestClock.adjust("5 seconds")
      const { errors } = yield* Fiber.join(call)
      assert.strictEqual(errors[0]?.extensions["code"], "provider_timeout")
      assert.strictEqual(state.spentMicro, 0)
    })
  )
})
