import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Gateway, layerGateway } from "../support/Gateway.ts"
import { VendorMock, vendorSettings } from "../support/Vendors.ts"

const GatewayOnMock = Layer.unwrap(Effect.map(VendorMock, ({ url }) => layerGateway(vendorSettings(url)))).pipe(
  Layer.provideMerge(VendorMock.layer)
)

layer(GatewayOnMock)("Calls over REST", (it) => {
  describe("status", () => {
    it.effect("answers without the envelope, with and without the slash, and is not counted", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const { key } = yield* gateway.tenant({ perMinute: 1 })
        for (const path of ["/v1/", "/v1", "/v1/"]) {
          const { json, status } = yield* gateway.request(path, { key })
          assert.strictEqual(status, 200)
          assert.deepInclude(json, { name: "sluice", status: "healthy" })
          assert.match(json.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        }
      })
    )
  })

  describe("generate", () => {
    const answers = [
      {
        provider: "openai",
        name: "gpt-5.4-mini",
        usage: { prompt_tokens: 400, completion_tokens: 600, total_tokens: 1000 }
      },
      { provider: "anthropic", name: "claude-sonnet-5-5", usage: { input_tokens: 400, output_tokens: 600 } }
    ]
    it.effect.each(answers)(
      "charges exactly 0.5 credits for 1,000 tokens of $provider, by the vendor's figures",
      (answer) =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const mock = yield* VendorMock
          const prompt = `Count for ${answer.provider}`
          mock.onMessage(prompt, { content: "One thousand.", usage: answer.usage })
          const tenant = yield* gateway.tenant()
          const { json, status } = yield* gateway.request("/v1/generate", {
            key: tenant.key,
            body: { prompt, model: { provider: answer.provider } }
          })
          assert.strictEqual(status, 200, JSON.stringify(json))
          assert.deepStrictEqual(json, {
            success: true,
            data: {
              type: "text",
              text: "One thousand.",
              model: { provider: answer.provider, name: answer.name },
              finish_reason: "stop",
              usage: { prompt_tokens: 400, completion_tokens: 600, total_tokens: 1000 },
              credits_used: 0.5
            }
          })
          assert.deepInclude(yield* gateway.account(tenant), { posted: 500_000, charges: 500_000, held: 0, holds: 0 })
          const usage = yield* gateway.graphql(
            tenant,
            '{ usage(from: "2020-01-01", to: "2100-01-01") { rows { operation model charges creditsUsed } } }'
          )
          assert.deepStrictEqual(usage.json.data.usage.rows, [
            { operation: "generate", model: `${answer.provider}/${answer.name}`, charges: 1, creditsUsed: 0.5 }
          ])
        })
    )

    it.effect("charges what the vendor counted also when that is more than was asked for", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const mock = yield* VendorMock
        mock.onMessage("Be brief", {
          content: "No.",
          usage: { prompt_tokens: 900, completion_tokens: 100, total_tokens: 1000 }
        })
        const tenant = yield* gateway.tenant()
        const body = { prompt: "Be brief", model: { provider: "openai" }, options: { max_tokens: 1 } }
        const { json } = yield* gateway.request("/v1/generate", { key: tenant.key, body })
        assert.strictEqual(json.data.credits_used, 0.5)
        assert.deepInclude(yield* gateway.account(tenant), { posted: 500_000, held: 0 })
      })
    )

    it.effect("charges nothing when the vendor fails", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const mock = yield* VendorMock
        mock.onMessage("Refuse me", {
          error: { message: "secret of the vendor", type: "invalid_api_key" },
          status: 401
        })
        const tenant = yield* gateway.tenant()
        const body = { prompt: "Refuse me", model: { provider: "openai" } }
        const answer = yield* gateway.request("/v1/generate", { key: tenant.key, body })
        assert.strictEqual(answer.json.error.code, "provider_error")
        assert.strictEqual(answer.status, 502)
        assert.notInclude(answer.text, "secret")
        assert.deepInclude(yield* gateway.account(tenant), { posted: 0, held: 0, holds: 0 })
      })
    )

    it.effect("says honestly, without a language model, that there is none", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const { key } = yield* gateway.tenant()
        const body = { prompt: "Tell me a joke", model: { provider: "local" } }
        const { json } = yield* gateway.request("/v1/generate", { key, body })
        assert.match(json.data.text, /No language model/)
        assert.strictEqual(json.data.credits_used, (json.data.usage.total_tokens * 0.5) / 1000)
      })
    )

    it.effect("refuses more output than the model can give, and says how much it can", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const { key } = yield* gateway.tenant()
        const body = { prompt: "a", model: { provider: "openai" }, options: { max_tokens: 1_000_000 } }
        const { json } = yield* gateway.request("/v1/generate", { key, body })
        assert.strictEqual(json.error.code, "validation_failed")
        assert.strictEqual(json.error.details[0].path, "options.max_tokens")
      })
    )
  })

  describe("embed", () => {
    it.effect("answers one vector per text, in order, for 0.5 credits", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const { key } = yield* gateway.tenant()
        const embed = (texts: ReadonlyArray<string>, provider: string) =>
          gateway.request("/v1/embed", { key, body: { texts, model: { provider } } })
        for (const provider of ["local", "openai"]) {
          const both = yield* embed(["water", "fire"], provider)
          assert.strictEqual(both.status, 200, both.text)
          const { credits_used, dimensions, embeddings } = both.json.data
          assert.strictEqual(credits_used, 0.5)
          assert.lengthOf(embeddings, 2)
          assert.lengthOf(embeddings[0], dimensions)
          const single = yield* embed(["fire"], provider)
          assert.deepStrictEqual(single.json.data.embeddings[0], embeddings[1])
        }
      })
    )
  })

  describe("index and search", () => {
    const documents = [
      { id: "1", title: "Ledger", content: "Every charge is an entry of the ledger.", metadata: { page: 3 } },
      { id: "2", content: "A canal lock lifts boats." }
    ]

    it.effect("finds what was indexed, replaces by id, and charges per document", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const tenant = yield* gateway.tenant()
        const index = (documents: ReadonlyArray<object>) =>
          gateway.request("/v1/index", {
            key: tenant.key,
            body: { collection: "c", documents, model: { provider: "local" } }
          })
        const search = (query: string) =>
          gateway.request("/v1/search", { key: tenant.key, body: { collection: "c", query, top_k: 1 } })

        const indexed = yield* index(documents)
        assert.deepStrictEqual(indexed.json.data, {
          collection: "c",
          documents_indexed: 2,
          chunks_created: 2,
          document_ids: ["1", "2"],
          credits_used: 1
        })
        const [first] = (yield* search("ledger entry")).json.data.results
        assert.deepInclude(first, { id: "1", content: documents[0]!.content, metadata: { page: 3, title: "Ledger" } })
        assert.isTrue(first.score > 0 && first.score <= 1)

        yield* index([{ id: "1", content: "Now about something else entirely." }])
        assert.notStrictEqual((yield* search("canal boats")).json.data.results[0].id, "1")
        const again = yield* index([documents[1]!])
        assert.deepInclude(again.json.data, { documents_indexed: 1, chunks_created: 0, credits_used: 0.5 })
        assert.deepInclude(yield* gateway.account(tenant), { posted: 3_000_000, charges: 3_000_000, held: 0 })
      })
    )

    it.effect("binds a collection to the embedding model of its first document", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const tenant = yield* gateway.tenant()
        const index = (provider: string) =>
          gateway.request("/v1/index", {
            key: tenant.key,
            body: { collection: "bound", documents: [documents[0]], model: { provider } }
          })
        assert.strictEqual((yield* index("local")).status, 200)
        const other = yield* index("openai")
        assert.strictEqual(other.status, 409)
        assert.strictEqual(other.json.error.code, "embedding_mismatch")
        assert.deepInclude(yield* gateway.account(tenant), { posted: 500_000, held: 0 })
      })
    )

    it.effect("keeps organizations apart, whatever the names", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const [mine, theirs] = [yield* gateway.tenant(), yield* gateway.tenant()]
        const body = { collection: "shared", documents }
        assert.strictEqual((yield* gateway.request("/v1/index", { key: mine.key, body })).status, 200)
        const search = { collection: "shared", query: "ledger" }
        const answer = yield* gateway.request("/v1/search", { key: theirs.key, body: search })
        assert.strictEqual(answer.json.error.code, "collection_not_found")
      })
    )
  })

  describe("200 calls at once on a pool that covers 50", () => {
    it.effect("serves exactly 50, over both surfaces, and the account adds up", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const tenant = yield* gateway.tenant({ credits: 25.4 })
        const model = { provider: "local" }
        const overRest = Effect.map(
          gateway.request("/v1/embed", { key: tenant.key, body: { texts: ["a"], model } }),
          ({ json }) => json.error?.code ?? "served"
        )
        const overGraphQl = Effect.map(
          gateway.graphql(tenant, "mutation ($input: EmbedInput!) { embed(input: $input) { creditsUsed } }", {
            input: { texts: ["a"], model }
          }),
          ({ json }) => json.errors?.[0].extensions.code ?? "served"
        )
        const outcomes = yield* Effect.all(
          Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? overRest : overGraphQl)),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(
          outcomes.filter((outcome) => outcome === "served"),
          50
        )
        assert.lengthOf(
          outcomes.filter((outcome) => outcome === "insufficient_credits"),
          150
        )
        const account = yield* gateway.account(tenant)
        assert.deepStrictEqual(account, {
          granted: 25_400_000,
          posted: 25_000_000,
          held: 0,
          charges: 25_000_000,
          holds: 0
        })
      })
    )
  })

  describe("75 calls at once", () => {
    it.effect("pass exactly 60 in a minute, over both surfaces", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const tenant = yield* gateway.tenant({ perMinute: 60 })
        const overRest = Effect.map(
          gateway.request("/v1/embed", { key: tenant.key, body: { texts: ["a"], model: { provider: "local" } } }),
          ({ status }) => status === 200
        )
        const overGraphQl = Effect.map(
          gateway.graphql(tenant, "{ credits { balance } }"),
          ({ json }) => json.errors === undefined
        )
        const passed = yield* Effect.all(
          Array.from({ length: 75 }, (_, i) => (i % 3 === 0 ? overGraphQl : overRest)),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(
          passed.filter((each) => each),
          60
        )
      })
    )
  })
})
