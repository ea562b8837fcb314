import type http from "node:http"
import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { anthropicMessages } from "../../src/providers/AnthropicMessages.ts"
import { openAiChat } from "../../src/providers/OpenAiChat.ts"
import { openAiEmbeddings } from "../../src/providers/OpenAiEmbeddings.ts"
import type { ProviderError } from "../../src/providers/ProviderError.ts"
import type { Endpoint } from "../../src/providers/Vendor.ts"
import { json, SERVER_KEY, vendorServer } from "../support/VendorServer.ts"

type Answer = (response: http.ServerResponse) => void

const PROMPT = "a prompt that no log may show"
const call = { prompt: PROMPT, maxTokens: 10 }
const chat = openAiChat({ maxTokensParameter: "max_completion_tokens" })

const protocols: ReadonlyArray<readonly [string, (endpoint: Endpoint) => Effect.Effect<unknown, ProviderError>]> = [
  ["chat completions", (endpoint) => Effect.flatMap(chat(endpoint), (generate) => generate("some-model", call))],
  ["messages", (endpoint) => Effect.flatMap(anthropicMessages(endpoint), (generate) => generate("some-model", call))],
  [
    "embeddings",
    (endpoint) => Effect.flatMap(openAiEmbeddings(endpoint), (embed) => embed({ model: "some-model", texts: [PROMPT] }))
  ]
]

/** An error as a vendor words it: with our key, our account and the prompt in it. */
const refusal =
  (status: number, error: Record<string, unknown> = {}, headers: http.OutgoingHttpHeaders = {}): Answer =>
  (response) =>
    json(
      response,
      status,
      {
        type: "error",
        error: { message: `No: ${SERVER_KEY}, org-abcdefgh, "${PROMPT}"`, type: "t", code: "c", ...error }
      },
      { "x-request-id": "req_1", ...headers }
    )

const failures: ReadonlyArray<readonly [string, Answer, object]> = [
  ["401", refusal(401), { _tag: "ProviderFailed", status: 401 }],
  ["403", refusal(403), { _tag: "ProviderFailed", status: 403 }],
  ["402", refusal(402), { _tag: "ProviderFailed", status: 402 }],
  ["404 of a model", refusal(404, { message: "model: some-model" }), { _tag: "ModelNotFound", model: "some-model" }],
  ["403 of a model", refusal(403, { code: "model_not_found" }), { _tag: "ModelNotFound", model: "some-model" }],
  ["404 of a path", (r) => r.writeHead(404).end("not here"), { _tag: "ProviderFailed", status: 404 }],
  ["408", refusal(408), { _tag: "ProviderTimeout" }],
  ["504", refusal(504), { _tag: "ProviderTimeout" }],
  ["409", refusal(409), { _tag: "ProviderFailed", status: 409 }],
  ["429", refusal(429), { _tag: "ProviderOverloaded" }],
  [
    "429 with Retry-After",
    refusal(429, {}, { "retry-after": "7" }),
    { _tag: "ProviderOverloaded", retryAfterMs: 7000 }
  ],
  [
    "429 with retry-after-ms",
    refusal(429, {}, { "retry-after-ms": "150", "retry-after": "1" }),
    { _tag: "ProviderOverloaded", retryAfterMs: 150 }
  ],
  [
    "429 with a Retry-After that is a date",
    refusal(429, {}, { "retry-after": "Thu, 01 Jan 1970 00:00:09 GMT" }),
    { _tag: "ProviderOverloaded", retryAfterMs: 9000 }
  ],
  [
    "429 with a Retry-After that is past",
    refusal(429, {}, { "retry-after": "Wed, 31 Dec 1969 23:59:00 GMT" }),
    { _tag: "ProviderOverloaded", retryAfterMs: 0 }
  ],
  [
    "429 with a Retry-After that says nothing",
    refusal(429, {}, { "retry-after": "soon" }),
    { _tag: "ProviderOverloaded" }
  ],
  ["429 for want of money", refusal(429, { code: "insufficient_quota" }), { _tag: "ProviderFailed", status: 429 }],
  [
    "400 for want of money",
    refusal(400, { message: "Your credit balance is too low" }),
    { _tag: "ProviderFailed", status: 400 }
  ],
  ["503", refusal(503), { _tag: "ProviderOverloaded" }],
  ["529", refusal(529), { _tag: "ProviderOverloaded" }],
  ["500", refusal(500), { _tag: "ProviderFailed", status: 500 }],
  [
    "502 that is not JSON",
    (r) => r.writeHead(502, { "content-type": "text/html" }).end("<html>"),
    { _tag: "ProviderFailed", status: 502 }
  ],
  [
    "a redirect",
    (r) => r.writeHead(307, { location: "http://127.0.0.1:9/" }).end(),
    { _tag: "ProviderFailed", status: 307 }
  ],
  [
    "200 that is not JSON",
    (r) => r.writeHead(200, { "content-type": "text/html" }).end(PROMPT),
    { _tag: "ProviderFailed", status: 200 }
  ],
  [
    "200 with broken JSON",
    (r) => r.writeHead(200, { "content-type": "application/json" }).end(`{"a": ${PROMPT}`),
    { _tag: "ProviderFailed", status: 200 }
  ],
  ["200 of another shape", (r) => json(r, 200, { ok: true }), { _tag: "ProviderFailed", status: 200 }],
  [
    "200 with an empty body",
    (r) => r.writeHead(200, { "content-type": "application/json" }).end(),
    { _tag: "ProviderFailed", status: 200 }
  ],
  ["204", (r) => r.writeHead(204).end(), { _tag: "ProviderFailed", status: 200 }],
  [
    "a cut body",
    (r) =>
      void r
        .writeHead(200, { "content-type": "application/json", "content-length": "100" })
        .write('{"a":', () => r.destroy()),
    { _tag: "ProviderFailed" }
  ],
  [
    "a cut chunked body",
    (r) => void r.writeHead(200, { "content-type": "application/json" }).write('{"a":', () => r.destroy()),
    { _tag: "ProviderFailed" }
  ],
  [
    "a body that is not gzip",
    (r) => r.writeHead(200, { "content-encoding": "gzip" }).end("plain"),
    { _tag: "ProviderFailed" }
  ],
  ["a reset", (r) => r.socket?.resetAndDestroy(), { _tag: "ProviderFailed" }]
]

for (const [protocol, run] of protocols) {
  describe(`a failure of a vendor that speaks ${protocol}`, () => {
    for (const [name, answer, expected] of failures) {
      it.effect(`${name} becomes ${JSON.stringify(expected)}, without a secret or the prompt for the log`, () =>
        Effect.gen(function* () {
          const { endpoint } = yield* vendorServer(answer)
          const error = yield* Effect.flip(run(endpoint))
          assert.strictEqual(error.provider, "vendor")
          assert.deepStrictEqual({ ...error.reason }, expected)
          assert.notMatch(inspect(error, { depth: 10, showHidden: true }), /sk-server|org-abc|no log may show|Bearer/)
        })
      )
    }

    it.effect("a refused connection becomes ProviderFailed and names the cause for the log", () =>
      Effect.gen(function* () {
        const { endpoint } = yield* vendorServer(() => undefined)
        const error = yield* Effect.flip(run({ ...endpoint, baseUrl: "http://127.0.0.1:1" }))
        assert.strictEqual(error.reason._tag, "ProviderFailed")
        assert.include(String(error.cause), "ECONNREFUSED")
      })
    )

    it.effect("the log gets the status, the vendor's code and its request id", () =>
      Effect.gen(function* () {
        const { endpoint } = yield* vendorServer(refusal(500))
        const error = yield* Effect.flip(run(endpoint))
        assert.strictEqual(String(error.cause), "Error: HTTP 500 t c req_1")
      })
    )

    it.live("interruption closes a connection on which an answer drips, too", () =>
      Effect.gen(function* () {
        const { endpoint, socketClosed } = yield* vendorServer((response) => {
          response.writeHead(200, { "content-type": "application/json" }).write('{"a":')
        })
        assert.strictEqual((yield* Effect.timeoutOption(run(endpoint), "200 millis"))._tag, "None")
        yield* Effect.timeout(socketClosed, "1 second")
      })
    )

    it.live("interruption closes the connection at once", () =>
      Effect.gen(function* () {
        const { endpoint, requests, socketClosed } = yield* vendorServer(() => undefined)
        const result = yield* Effect.timeoutOption(run(endpoint), "200 millis")
        assert.strictEqual(result._tag, "None")
        yield* Effect.timeout(socketClosed, "1 second")
        assert.strictEqual(requests.length, 1)
      })
    )
  })
}

describe("a refusal that the caller can mend", () => {
  const cases: ReadonlyArray<readonly [string, Answer, string, RegExp]> = [
    ["a prompt that is too long", refusal(400, { code: "context_length_exceeded" }), "prompt", /^Expected less text/],
    [
      "a prompt that is too long, told in words",
      refusal(400, { message: "prompt is too long: 9 tokens > 8" }),
      "prompt",
      /^Expected less text/
    ],
    ["a body that is too large", refusal(413), "prompt", /^Expected less text/],
    [
      "a parameter",
      refusal(400, { param: "temperature", message: "Only 1 is supported" }),
      "options.temperature",
      /^Only 1 is supported$/
    ],
    [
      "a parameter that opens the message",
      refusal(400, { message: "max_tokens: 9 > 8" }),
      "options.max_tokens",
      /^max_tokens: 9 > 8$/
    ],
    ["something else", refusal(422), "prompt", /^No: \[redacted\], \[redacted\]/],
    ["no word", (r) => r.writeHead(400).end(), "prompt", /^Expected what some-model accepts$/],
    ["too many words", refusal(400, { message: "x".repeat(10_000) }), "prompt", /^x{300}$/]
  ]
  for (const [name, answer, path, message] of cases) {
    it.effect(`names the field: ${name}`, () =>
      Effect.gen(function* () {
        const { endpoint } = yield* vendorServer(answer)
        const { reason } = yield* Effect.flip((yield* chat(endpoint))("some-model", call))
        assert(reason._tag === "ModelRefused")
        assert.strictEqual(reason.path, path)
        assert.match(reason.message, message)
      })
    )
  }

  it.effect("names the texts of an embedding call", () =>
    Effect.gen(function* () {
      const { endpoint } = yield* vendorServer(
        refusal(400, { message: "This model's maximum context length is 8192 tokens" })
      )
      const { reason } = yield* Effect.flip((yield* openAiEmbeddings(endpoint))({ model: "some-model", texts: ["x"] }))
      assert.strictEqual(reason._tag === "ModelRefused" && reason.path, "texts")
    })
  )
})
