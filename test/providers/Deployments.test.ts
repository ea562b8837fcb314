import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { Deployments, decodeDeployments } from "../../src/providers/Deployments.ts"
import { Embeddings } from "../../src/providers/Embeddings.ts"
import { LanguageModels } from "../../src/providers/LanguageModels.ts"
import { openAiChat } from "../../src/providers/OpenAiChat.ts"
import type { Vendor } from "../../src/providers/Vendor.ts"
import { vendors } from "../../src/providers/Vendors.ts"
import { json, vendorServer } from "../support/VendorServer.ts"

const withSettings = (settings: Record<string, string>) =>
  Layer.mergeAll(LanguageModels.layer, Embeddings.layer, Deployments.layer).pipe(
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(settings))),
    Layer.fresh
  )

const defaults = Effect.gen(function* () {
  const language = yield* (yield* LanguageModels).resolve(undefined)
  const embedding = yield* (yield* Embeddings).resolve(undefined)
  return [`${language.provider}/${language.name}`, `${embedding.provider}/${embedding.name}/${embedding.dimensions}`]
})

const OPENAI = { OPENAI_API_KEY: "sk-openai" }
const ANTHROPIC = { ANTHROPIC_API_KEY: "sk-anthropic" }
const LOCAL = ["local/extractive", "local/lexical-384/384"]

describe("the default models", () => {
  const cases: ReadonlyArray<readonly [string, Record<string, string>, ReadonlyArray<string>]> = [
    ["are local without a key", {}, LOCAL],
    [
      "are local with empty settings",
      { OPENAI_API_KEY: "", ANTHROPIC_API_KEY: " ", OPENAI_BASE_URL: "", SLUICE_DEFAULT_PROVIDER: "" },
      LOCAL
    ],
    ["are those of the vendor with a key", OPENAI, ["openai/gpt-5.4-mini", "openai/text-embedding-3-small/1536"]],
    [
      "embed locally when the vendor with a key cannot",
      ANTHROPIC,
      ["anthropic/claude-sonnet-5-5", "local/lexical-384/384"]
    ],
    [
      "are the first vendor's of two with keys",
      { ...ANTHROPIC, ...OPENAI },
      ["openai/gpt-5.4-mini", "openai/text-embedding-3-small/1536"]
    ],
    [
      "are those that are set",
      { ...ANTHROPIC, ...OPENAI, SLUICE_DEFAULT_PROVIDER: "anthropic", SLUICE_EMBEDDING_PROVIDER: "local" },
      ["anthropic/claude-sonnet-5-5", "local/lexical-384/384"]
    ]
  ]
  for (const [name, settings, expected] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Effect.provide(defaults, withSettings(settings)), expected)
      })
    )
  }
})

describe("a setting that cannot be used", () => {
  const cases: ReadonlyArray<readonly [Record<string, string>, string]> = [
    [
      { SLUICE_DEFAULT_PROVIDER: "acme" },
      'SLUICE_DEFAULT_PROVIDER is "acme"; expected one of openai, anthropic, local.'
    ],
    [
      { SLUICE_DEFAULT_PROVIDER: "__proto__" },
      'SLUICE_DEFAULT_PROVIDER is "__proto__"; expected one of openai, anthropic, local.'
    ],
    [{ SLUICE_DEFAULT_PROVIDER: "openai" }, 'SLUICE_DEFAULT_PROVIDER is "openai", but OPENAI_API_KEY is not set.'],
    [
      { ...ANTHROPIC, SLUICE_EMBEDDING_PROVIDER: "anthropic" },
      'SLUICE_EMBEDDING_PROVIDER is "anthropic"; expected one of openai, local.'
    ],
    [
      { ...OPENAI, OPENAI_BASE_URL: "ftp://secret@host" },
      "OPENAI_BASE_URL must be an http or https URL without a query."
    ],
    [{ ...OPENAI, OPENAI_BASE_URL: "nonsense" }, "OPENAI_BASE_URL must be an http or https URL without a query."],
    [{ OPENAI_API_KEY: "sk two words" }, "OPENAI_API_KEY must be one word of printable ASCII characters."]
  ]
  for (const [settings, message] of cases) {
    it.effect(`stops the start and says: ${message}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Effect.scoped(Layer.build(withSettings(settings))))
        assert.strictEqual(error.message, message)
      })
    )
  }
})

describe("a provider that cannot be called here", () => {
  for (const provider of ["openai", "acme", "constructor", "__proto__", "toString"]) {
    it.effect(`is refused with the list of those that can: ${provider}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip((yield* LanguageModels).resolve({ provider }))
        assert.strictEqual(error.provider, provider)
        assert.deepInclude(error.reason, {
          _tag: "ProviderNotConfigured",
          configured: ["anthropic", "local"]
        })
      }).pipe(Effect.provide(withSettings(ANTHROPIC)))
    )
  }

  it.effect("is refused for embeddings when it has none", () =>
    Effect.gen(function* () {
      const { reason } = yield* Effect.flip((yield* Embeddings).resolve({ provider: "anthropic" }))
      assert.deepInclude(reason, { _tag: "ProviderNotConfigured", configured: ["openai", "local"] })
    }).pipe(Effect.provide(withSettings({ ...ANTHROPIC, ...OPENAI })))
  )
})

describe("a model that is not there", () => {
  it.effect("is refused where all models are known", () =>
    Effect.gen(function* () {
      for (const name of ["gpt-4", "constructor"]) {
        const language = yield* Effect.flip((yield* LanguageModels).resolve({ provider: "local", name }))
        assert.deepInclude(language.reason, { _tag: "ModelNotFound", model: name })
        const embedding = yield* Effect.flip((yield* Embeddings).resolve({ provider: "local", name }))
        assert.deepInclude(embedding.reason, { _tag: "ModelNotFound", model: name })
      }
    }).pipe(Effect.provide(withSettings({})))
  )

  it.effect("is left to the vendor elsewhere", () =>
    Effect.gen(function* () {
      const model = yield* (yield* LanguageModels).resolve({ name: "gpt-99" })
      assert.deepStrictEqual([model.provider, model.name], ["openai", "gpt-99"])
    }).pipe(Effect.provide(withSettings(OPENAI)))
  )
})

describe("the length of vectors", () => {
  const cases: ReadonlyArray<readonly [object, number]> = [
    [{ provider: "local", dimensions: 64 }, 64],
    [{ provider: "local", name: "lexical-384", dimensions: 4096 }, 4096],
    [{ provider: "openai", dimensions: 512 }, 512],
    [{ provider: "openai", name: "text-embedding-3-large" }, 3072],
    [{ provider: "openai", name: "some-new-model", dimensions: 99 }, 99]
  ]
  for (const [selector, expected] of cases) {
    it.effect(`is ${expected} for ${JSON.stringify(selector)}`, () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* (yield* Embeddings).resolve(selector)).dimensions, expected)
      }).pipe(Effect.provide(withSettings(OPENAI)))
    )
  }

  const refused: ReadonlyArray<readonly [object, string]> = [
    [{ provider: "local", dimensions: 63 }, "Expected a length between 64 and 4096 for lexical-384"],
    [{ provider: "openai", dimensions: 1537 }, "Expected a length between 1 and 1536 for text-embedding-3-small"],
    [
      { provider: "openai", name: "text-embedding-ada-002", dimensions: 512 },
      "Expected 1536 for text-embedding-ada-002"
    ],
    [
      { provider: "openai", name: "some-new-model" },
      "Expected the length of some-new-model's vectors, which is not known here"
    ]
  ]
  for (const [selector, message] of refused) {
    it.effect(`is refused: ${JSON.stringify(selector)}`, () =>
      Effect.gen(function* () {
        const { reason } = yield* Effect.flip((yield* Embeddings).resolve(selector))
        assert.deepInclude(reason, { _tag: "ModelRefused", path: "model.dimensions", message })
      }).pipe(Effect.provide(withSettings(OPENAI)))
    )
  }
})

describe("a vendor that speaks a known protocol", () => {
  it.effect("is one row", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* vendorServer((response) =>
        json(response, 200, { choices: [{ message: { content: "Hi from acme" } }] })
      )
      const acme: Vendor = {
        id: "acme",
        access: { baseUrl: `${url}/v9/`, keyVariable: "ACME_API_KEY", baseUrlVariable: "ACME_BASE_URL" },
        generation: {
          connect: openAiChat({ maxTokensParameter: "max_tokens" }),
          defaultModel: "acme-1",
          defaultMaxTokens: 10,
          maxOutputTokens: 100
        }
      }
      const Acme = LanguageModels.layerNoDeployments.pipe(
        Layer.provide(Layer.effect(Deployments, decodeDeployments([acme, ...vendors]))),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ ACME_API_KEY: "acme-key" })))
      )
      const answer = yield* Effect.gen(function* () {
        const model = yield* (yield* LanguageModels).resolve(undefined)
        return yield* model.generate({ prompt: "hello", maxTokens: model.defaultMaxTokens })
      }).pipe(Effect.provide(Acme))
      assert.strictEqual(answer.text, "Hi from acme")
      assert.strictEqual(requests[0]?.url, "/v9/chat/completions")
      assert.deepInclude(requests[0]?.body, { model: "acme-1", max_tokens: 10 })
    })
  )
})
