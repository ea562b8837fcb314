import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Deployments } from "../../src/providers/Deployments.ts"
import { Embeddings } from "../../src/providers/Embeddings.ts"
import { ProviderError, ProviderOverloaded } from "../../src/providers/ProviderError.ts"
import type { Embed, EmbedCall } from "../../src/providers/Vendor.ts"

/** Embeddings by one invented vendor with models `three` and `any`, at most 3 texts or 10 bytes per request. */
const withVendor = (embed: Embed) => {
  const row = {
    connect: () => Effect.succeed(embed),
    defaultModel: "three",
    known: new Map([["three", { default: 3, min: 2, max: 3 }]]),
    isClosed: false,
    batch: { texts: 3, bytes: 10 }
  }
  const endpoint = { provider: "acme", baseUrl: "", apiKey: Redacted.make("") }
  return Embeddings.layerNoDeployments.pipe(
    Layer.provide(
      Layer.succeed(Deployments, {
        generation: { defaultProvider: "acme", byProvider: new Map() },
        embedding: { defaultProvider: "acme", byProvider: new Map([["acme", { provider: "acme", endpoint, row }]]) }
      })
    ),
    Layer.fresh
  )
}

/** Writes each text's number into its vector. */
const numbering: Embed = ({ dimensions = 3, texts }) =>
  Effect.succeed(texts.map((text) => Array.from({ length: dimensions }, () => Number(text))))

describe("embedding many texts", () => {
  it.effect("asks in batches that the vendor takes and keeps the order", () => {
    const calls: Array<EmbedCall> = []
    return Effect.gen(function* () {
      const model = yield* (yield* Embeddings).resolve(undefined)
      const texts = ["1", "2", "3", "4", "55555", "66666", "7", "8888888888888", "9"]
      assert.deepStrictEqual(
        (yield* model.embed(texts)).map(([first]) => first),
        texts.map(Number)
      )
      assert.deepStrictEqual(
        calls.map((call) => call.texts),
        [["1", "2", "3"], ["4", "55555"], ["66666", "7"], ["8888888888888"], ["9"]]
      )
      assert.isTrue(calls.every((call) => !("dimensions" in call)))
    }).pipe(
      Effect.provide(
        withVendor((call) => {
          calls.push(call)
          return numbering(call)
        })
      )
    )
  })

  it.effect("asks for a length that is not the model's own", () =>
    Effect.gen(function* () {
      const model = yield* (yield* Embeddings).resolve({ dimensions: 2 })
      assert.deepStrictEqual(yield* model.embed(["1"]), [[1, 1]])
    }).pipe(Effect.provide(withVendor(numbering)))
  )

  const wrong: ReadonlyArray<readonly [string, ReadonlyArray<ReadonlyArray<number>>]> = [
    ["too few vectors", [[1, 2, 3]]],
    [
      "a vector of another length",
      [
        [1, 2, 3],
        [1, 2]
      ]
    ]
  ]
  for (const [name, vectors] of wrong) {
    it.effect(`fails on ${name}`, () =>
      Effect.gen(function* () {
        const model = yield* (yield* Embeddings).resolve(undefined)
        const { reason } = yield* Effect.flip(model.embed(["1", "2"]))
        assert.deepInclude(reason, { _tag: "ProviderFailed", status: 200 })
      }).pipe(Effect.provide(withVendor(() => Effect.succeed(vectors))))
    )
  }

  it.effect("fails as a whole when a batch fails", () =>
    Effect.gen(function* () {
      const model = yield* (yield* Embeddings).resolve(undefined)
      const { reason } = yield* Effect.flip(model.embed(["1", "2", "3", "4"]))
      assert.strictEqual(reason._tag, "ProviderOverloaded")
    }).pipe(
      Effect.provide(
        withVendor((call) =>
          call.texts.includes("4")
            ? Effect.fail(
                new ProviderError({ provider: "acme", reason: new ProviderOverloaded({ retryAfterMs: 60_000 }) })
              )
            : numbering(call)
        )
      )
    )
  )
})
