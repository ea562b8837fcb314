import { assert, describe, it, layer, vi } from "@effect/vitest"
import { Effect, Layer, Random } from "effect"
import { anthropicMessages } from "../../src/providers/AnthropicMessages.ts"
import { Embeddings } from "../../src/providers/Embeddings.ts"
import { LanguageModels } from "../../src/providers/LanguageModels.ts"
import { openAiChat } from "../../src/providers/OpenAiChat.ts"
import { openAiEmbeddings } from "../../src/providers/OpenAiEmbeddings.ts"
import { json, SERVER_KEY, vendorServer } from "../support/VendorServer.ts"
import { mockSettings, OPENAI_KEY, VendorMock } from "../support/Vendors.ts"

const Providers = Layer.mergeAll(LanguageModels.layer, Embeddings.layer).pipe(
  Layer.provide(mockSettings),
  Layer.provideMerge(VendorMock.layer),
  Layer.fresh
)

/** What the mock was last asked, without what the mock adds of its own. */
const lastRequest = (mock: VendorMock["Service"]) => {
  const { body, headers, path } = mock.getLastRequest()!
  const asked = Object.fromEntries(Object.entries(body ?? {}).filter(([name]) => !name.startsWith("_")))
  return { asked, headers, path }
}

/** Another attempt follows without a pause. */
const atOnce = Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0, nextIntUnsafe: () => 0 })

const usage = { prompt_tokens: 600, completion_tokens: 400, input_tokens: 600, output_tokens: 400 }

layer(Providers)("through the vendors' own SDKs against the mock", (it) => {
  for (const provider of ["openai", "anthropic"]) {
    it.effect(`${provider} answers text with the vendor's usage`, () =>
      Effect.gen(function* () {
        const mock = yield* VendorMock
        mock.onMessage("hello", { content: "Hi there!", usage })
        const model = yield* (yield* LanguageModels).resolve({ provider })
        assert.deepStrictEqual(yield* model.generate({ prompt: "hello", maxTokens: 100 }), {
          text: "Hi there!",
          finishReason: "stop",
          usage: { prompt_tokens: 600, completion_tokens: 400, total_tokens: 1000 },
          warnings: []
        })
      })
    )

    it.effect(`${provider} says when it stopped for length`, () =>
      Effect.gen(function* () {
        const mock = yield* VendorMock
        mock.onMessage("go on", { content: "On and", finishReason: "length" })
        const model = yield* (yield* LanguageModels).resolve({ provider })
        assert.strictEqual((yield* model.generate({ prompt: "go on", maxTokens: 2 })).finishReason, "length")
      })
    )

    it.effect(`${provider} answers at the second attempt when the first is overloaded`, () =>
      Effect.gen(function* () {
        const mock = yield* VendorMock
        mock.onMessage("again", { content: "At last" })
        mock.clearRequests()
        mock.nextRequestError(503)
        const model = yield* (yield* LanguageModels).resolve({ provider })
        assert.strictEqual((yield* model.generate({ prompt: "again", maxTokens: 100 })).text, "At last")
        assert.deepStrictEqual(
          mock.getRequests().map(({ response }) => response.status),
          [503, 200]
        )
      }).pipe(atOnce)
    )
  }

  it.effect("openai gets the system prompt, temperature and max_completion_tokens, with our key", () =>
    Effect.gen(function* () {
      const mock = yield* VendorMock
      mock.onMessage("hello", { content: "Hi" })
      const model = yield* (yield* LanguageModels).resolve({ provider: "openai" })
      const result = yield* model.generate({ prompt: "hello", system: "Be kind.", temperature: 0.3, maxTokens: 77 })
      const { asked, headers, path } = lastRequest(mock)
      assert.strictEqual(path, "/v1/chat/completions")
      assert.deepStrictEqual(asked, {
        model: "gpt-5.4-mini",
        messages: [
          { role: "system", content: "Be kind." },
          { role: "user", content: "hello" }
        ],
        temperature: 0.3,
        max_completion_tokens: 77
      })
      assert.include([`Bearer ${OPENAI_KEY}`, "[REDACTED]"], headers["authorization"])
      assert.deepStrictEqual(result.warnings, [])
    })
  )

  it.effect("openai makes vectors of its own length", () =>
    Effect.gen(function* () {
      const mock = yield* VendorMock
      mock.onEmbedding("first", { embedding: Array.from({ length: 1536 }, () => 0.5) })
      const model = yield* (yield* Embeddings).resolve({ provider: "openai" })
      const vectors = yield* model.embed(["first", "second"])
      assert.deepStrictEqual(
        vectors.map((vector) => vector.length),
        [1536, 1536]
      )
    })
  )
})

const chat = openAiChat({ maxTokensParameter: "max_tokens" })
const completion = (message: object, rest: object = {}) => ({
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", ...message } }],
  ...rest
})

describe("chat completions", () => {
  it.effect("take nothing from the SDK's own settings", () =>
    Effect.gen(function* () {
      vi.stubEnv("OPENAI_ORG_ID", "org-of-the-shell")
      vi.stubEnv("OPENAI_PROJECT_ID", "project-of-the-shell")
      const { endpoint, requests } = yield* vendorServer((response) =>
        json(response, 200, completion({ content: "Hi" }))
      )
      yield* (yield* chat(endpoint))("m", { prompt: "hello", maxTokens: 7 })
      assert.notInclude(JSON.stringify(requests[0]?.headers), "of-the-shell")
    }).pipe(Effect.ensuring(Effect.sync(() => vi.unstubAllEnvs())))
  )

  it.effect("are asked for max_tokens where the row says so", () =>
    Effect.gen(function* () {
      const { endpoint, requests } = yield* vendorServer((response) =>
        json(response, 200, completion({ content: "Hi" }))
      )
      yield* (yield* chat(endpoint))("m", { prompt: "hello", maxTokens: 7 })
      assert.deepStrictEqual(requests[0]?.body, {
        model: "m",
        messages: [{ role: "user", content: "hello" }],
        max_tokens: 7
      })
      assert.strictEqual(requests[0]?.url, "/chat/completions")
      assert.strictEqual(requests[0]?.headers.authorization, `Bearer ${SERVER_KEY}`)
    })
  )

  it.effect("without usage are counted here", () =>
    Effect.gen(function* () {
      for (const usage of [undefined, null, { prompt_tokens: -1, completion_tokens: 2 }]) {
        const { endpoint } = yield* vendorServer((response) =>
          json(response, 200, completion({ content: "Hello world" }, { usage }))
        )
        const result = yield* (yield* chat(endpoint))("m", { prompt: "hello world", system: "Be kind.", maxTokens: 7 })
        assert.deepStrictEqual(result.usage, { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 })
      }
    })
  )

  it.effect("count tokens of thought that are in the vendor's total alone", () =>
    Effect.gen(function* () {
      const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 50 }
      const { endpoint } = yield* vendorServer((response) =>
        json(response, 200, completion({ content: "x" }, { usage }))
      )
      assert.strictEqual((yield* (yield* chat(endpoint))("m", { prompt: "p", maxTokens: 7 })).usage.total_tokens, 50)
    })
  )

  const endings: ReadonlyArray<readonly [object, string, string, string]> = [
    [{ content: "text" }, "stop", "stop", "text"],
    [{ content: "text" }, "length", "length", "text"],
    [{ content: null }, "content_filter", "content_filter", ""],
    [{ content: "text", refusal: "" }, "stop", "stop", "text"],
    [{ content: null, refusal: "I cannot help." }, "stop", "content_filter", "I cannot help."],
    [{ content: "text" }, "something_new", "stop", "text"]
  ]
  for (const [message, reason, finishReason, text] of endings) {
    it.effect(`that end with ${reason} and ${JSON.stringify(message)} stop for ${finishReason}`, () =>
      Effect.gen(function* () {
        const { endpoint } = yield* vendorServer((response) =>
          json(response, 200, { choices: [{ finish_reason: reason, message }] })
        )
        const result = yield* (yield* chat(endpoint))("m", { prompt: "p", maxTokens: 7 })
        assert.deepStrictEqual([result.finishReason, result.text], [finishReason, text])
      })
    )
  }
})

describe("messages", () => {
  const message = (stop_reason: string, usage: object = { input_tokens: 1, output_tokens: 2 }) => ({
    type: "message",
    content: [
      { type: "thinking", thinking: "Hm" },
      { type: "text", text: "Hello " },
      { type: "text", text: "world" }
    ],
    stop_reason,
    usage
  })

  it.effect("carry the system prompt and the bound, and leave the temperature out with a warning", () =>
    Effect.gen(function* () {
      const { endpoint, requests } = yield* vendorServer((response) => json(response, 200, message("end_turn")))
      const call = { prompt: "hello", system: "Be kind.", temperature: 0.3, maxTokens: 64_000 }
      const result = yield* (yield* anthropicMessages(endpoint))("m", call)
      assert.deepStrictEqual(requests[0]?.body, {
        model: "m",
        max_tokens: 64_000,
        messages: [{ role: "user", content: "hello" }],
        system: "Be kind."
      })
      assert.strictEqual(requests[0]?.url, "/v1/messages")
      assert.strictEqual(requests[0]?.headers.authorization, `Bearer ${SERVER_KEY}`)
      assert.strictEqual(result.text, "Hello world")
      assert.deepStrictEqual(result.warnings, ["m has no temperature: options.temperature was left out."])
    })
  )

  it.effect("count what the vendor's cache wrote and read as part of the prompt", () =>
    Effect.gen(function* () {
      const usage = { input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: 30, cache_read_input_tokens: 400 }
      const { endpoint } = yield* vendorServer((response) => json(response, 200, message("end_turn", usage)))
      const result = yield* (yield* anthropicMessages(endpoint))("m", { prompt: "p", maxTokens: 7 })
      assert.deepStrictEqual(result.usage, { prompt_tokens: 431, completion_tokens: 2, total_tokens: 433 })
    })
  )

  it.effect("without usage are counted here", () =>
    Effect.gen(function* () {
      const { endpoint } = yield* vendorServer((response) => json(response, 200, message("end_turn", {})))
      const result = yield* (yield* anthropicMessages(endpoint))("m", { prompt: "hello world", maxTokens: 7 })
      assert.deepStrictEqual(result.usage, { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 })
    })
  )

  for (const [stopReason, finishReason] of [
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "content_filter"]
  ] as const) {
    it.effect(`that end with ${stopReason} stop for ${finishReason}`, () =>
      Effect.gen(function* () {
        const { endpoint } = yield* vendorServer((response) => json(response, 200, message(stopReason)))
        const result = yield* (yield* anthropicMessages(endpoint))("m", { prompt: "p", maxTokens: 7 })
        assert.strictEqual(result.finishReason, finishReason)
      })
    )
  }
})

describe("embeddings", () => {
  it.effect("are asked for as floats of the wanted length and put in order by their index", () =>
    Effect.gen(function* () {
      const { endpoint, requests } = yield* vendorServer((response) =>
        json(response, 200, {
          data: [
            { index: 1, embedding: [3, 4] },
            { index: 0, embedding: [1, 2] }
          ]
        })
      )
      const vectors = yield* (yield* openAiEmbeddings(endpoint))({ model: "m", texts: ["a", "b"], dimensions: 2 })
      assert.deepStrictEqual(vectors, [
        [1, 2],
        [3, 4]
      ])
      assert.deepStrictEqual(requests[0]?.body, {
        model: "m",
        input: ["a", "b"],
        encoding_format: "float",
        dimensions: 2
      })
    })
  )

  const wrong: ReadonlyArray<readonly [string, ReadonlyArray<object>]> = [
    ["too few", [{ index: 0, embedding: [1] }]],
    [
      "one index twice",
      [
        { index: 0, embedding: [1] },
        { index: 0, embedding: [2] }
      ]
    ],
    ["too many", [0, 1, 2].map((index) => ({ index, embedding: [1] }))],
    ["base64", [0, 1].map((index) => ({ index, embedding: "AACAPw==" }))],
    ["no numbers", [0, 1].map((index) => ({ index, embedding: [null] }))]
  ]
  for (const [name, data] of wrong) {
    it.effect(`that are not one vector per text fail: ${name}`, () =>
      Effect.gen(function* () {
        const { endpoint } = yield* vendorServer((response) => json(response, 200, { data }))
        const { reason } = yield* Effect.flip((yield* openAiEmbeddings(endpoint))({ model: "m", texts: ["a", "b"] }))
        assert.deepInclude(reason, { _tag: "ProviderFailed", status: 200 })
      })
    )
  }
})
