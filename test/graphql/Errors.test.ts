import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, keys, startGateway } from "./FakeGateway.ts"

const codesOf = ({ errors }: Answer) => errors.map(({ extensions }) => extensions["code"])

const generate = (input: string) => `mutation { generate(input: ${input}) { text } }`

/** Each row: what is asked, the code, the status in the error, and the path of its detail where there is one. */
const failures: ReadonlyArray<readonly [query: string, code: string, status: number, path?: string]> = [
  [generate(`{ prompt: "p", model: { provider: "acme" } }`), "provider_not_configured", 400, "model.provider"],
  [generate(`{ prompt: "p", model: { name: "missing" } }`), "model_not_found", 404, "model.name"],
  [generate(`{ prompt: "p", model: { name: "refusing" } }`), "validation_failed", 400, "options.maxTokens"],
  [generate(`{ prompt: "p", options: { maxTokens: 1001 } }`), "validation_failed", 400, "options.maxTokens"],
  [generate(`{ prompt: "p", model: { name: "failing" } }`), "provider_error", 502],
  [generate(`{ prompt: "p", model: { name: "overloaded" } }`), "provider_overloaded", 503],
  [generate(`{ prompt: "p", model: { name: "late" } }`), "provider_timeout", 504],
  [generate(`{ prompt: "p", model: { name: "buggy" } }`), "internal", 500],
  [`{ search(query: "q", collection: "none") { creditsUsed } }`, "collection_not_found", 404],
  [
    `mutation { index(input: { collection: "mismatched", documents: [{ id: "1", content: "c" }] }) { creditsUsed } }`,
    "embedding_mismatch",
    409,
    "model"
  ]
]

describe("GraphQL errors", () => {
  for (const [query, code, status, path] of failures) {
    it.effect(`answers ${code} for ${query}`, () =>
      Effect.gen(function* () {
        const { post, state } = yield* startGateway
        const answer = yield* post(query)
        assert.strictEqual(answer.status, 200)
        assert.lengthOf(answer.errors, 1)
        const { extensions, message } = answer.errors[0]!
        assert.strictEqual(extensions["code"], code)
        assert.strictEqual(extensions["status"], status)
        assert.strictEqual(extensions["request_id"], answer.headers.get("x-request-id"))
        assert.isBoolean(extensions["retryable"])
        assert.isNotEmpty(message)
        const details = extensions["details"] as ReadonlyArray<{ readonly path: string }> | undefined
        assert.strictEqual(details?.[0]?.path, path)
        assert.notInclude(answer.text, "secret")
        assert.strictEqual(state.spentMicro, 0)
        assert.strictEqual(state.holds.size, 0)
      })
    )
  }

  it.effect("takes an answer that does not fit its type for a bug of ours, and says nothing of what it was", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const answer = yield* post(
        `mutation { generate(input: { prompt: "p", model: { name: "fractional" } }) { usage { totalTokens } } }`
      )
      assert.deepStrictEqual(codesOf(answer), ["internal"])
      assert.deepStrictEqual(answer.errors[0]?.path, ["generate", "usage", "totalTokens"])
      assert.notInclude(answer.text, "1000.5")
    })
  )

  it.effect("says when a retry can succeed", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const answer = yield* post(generate(`{ prompt: "p", model: { name: "overloaded" } }`))
      assert.strictEqual(answer.headers.get("retry-after"), "2")
    })
  )

  it.effect("refuses what the key's scopes do not allow, field by field", () =>
    Effect.gen(function* () {
      const { post, state } = yield* startGateway
      const credits = yield* post("{ status { name } credits { balance } }", {}, { key: keys.invokeOnly })
      assert.deepStrictEqual(credits.data, { status: { name: "sluice" }, credits: null })
      assert.deepStrictEqual(codesOf(credits), ["forbidden"])
      const index = `mutation { index(input: { collection: "c", documents: [{ id: "1", content: "c" }] }) { creditsUsed } }`
      const indexed = yield* post(index, {}, { key: keys.invokeOnly })
      assert.deepStrictEqual(codesOf(indexed), ["forbidden"])
      assert.deepStrictEqual(state.indexed, [])
    })
  )

  it.effect("refuses a call over the rate limit and says when the next one may come", () =>
    Effect.gen(function* () {
      const { post, state } = yield* startGateway
      state.remaining = 0
      const answer = yield* post(generate(`{ prompt: "p" }`))
      assert.deepStrictEqual(codesOf(answer), ["rate_limited"])
      assert.strictEqual(answer.errors[0]?.extensions["retryable"], true)
      assert.strictEqual(answer.headers.get("retry-after"), "12")
      assert.include(answer.headers.get("ratelimit") ?? "", `"minute";r=0;t=12`)
      assert.deepStrictEqual(state.started, [])
    })
  )

  it.effect("refuses a call that the pool may not cover, and tells what it would take", () =>
    Effect.gen(function* () {
      const { post, state } = yield* startGateway
      state.grantedMicro = 400_000
      const answer = yield* post(`{ search(query: "q", collection: "papers") { creditsUsed } }`)
      assert.deepStrictEqual(codesOf(answer), ["insufficient_credits"])
      assert.deepStrictEqual(answer.errors[0]?.extensions["details"], [
        { path: "required", message: "0.5" },
        { path: "available", message: "0.4" }
      ])
      assert.isNull(answer.headers.get("retry-after"))
    })
  )
})

const paths = (answer: Answer) =>
  answer.errors.flatMap(({ extensions }) =>
    (extensions["details"] as ReadonlyArray<{ readonly path: string }>).map(({ path }) => path)
  )

describe("GraphQL input", () => {
  /** Each row: an input of `generate` and the places that are named, whether it comes inline or as a variable. */
  const inputs: ReadonlyArray<readonly [inline: string, variable: unknown, paths: ReadonlyArray<string>]> = [
    [`{}`, {}, ["prompt"]],
    [`{ prompt: 5 }`, { prompt: 5 }, ["prompt"]],
    [`{ prompt: null }`, { prompt: null }, ["prompt"]],
    [`[]`, [], [""]],
    [`"text"`, "text", [""]],
    [`{ prompt: "" }`, { prompt: "" }, ["prompt"]],
    [`{ prompt: "p", constructor: 1 }`, { prompt: "p", constructor: 1 }, [""]],
    [
      `{ prompt: "p", options: { maxTokens: 1.5 } }`,
      { prompt: "p", options: { maxTokens: 1.5 } },
      ["options.maxTokens"]
    ],
    [`{ prompt: "p", options: { maxTokens: 0 } }`, { prompt: "p", options: { maxTokens: 0 } }, ["options.maxTokens"]],
    [`{ prompt: "p", options: { max_tokens: 1 } }`, { prompt: "p", options: { max_tokens: 1 } }, ["options"]],
    [
      `{ prompt: "", model: { name: "" }, options: { temperature: 3 } }`,
      { prompt: "", model: { name: "" }, options: { temperature: 3 } },
      ["prompt", "model.name", "options.temperature"]
    ]
  ]

  for (const [inline, variable, expected] of inputs) {
    it.effect(`names the places that do not fit in ${inline}`, () =>
      Effect.gen(function* () {
        const { post, state } = yield* startGateway
        const asLiteral = yield* post(generate(inline))
        const asVariable = yield* post("mutation ($input: GenerateInput!) { generate(input: $input) { text } }", {
          input: variable
        })
        for (const answer of [asLiteral, asVariable]) {
          assert.deepStrictEqual(codesOf(answer), ["validation_failed"])
          assert.strictEqual(answer.errors[0]?.extensions["status"], 400)
          assert.strictEqual(answer.errors[0]?.message, "The request does not fit the schema.")
          assert.sameMembers(paths(answer), [...expected])
        }
        assert.strictEqual(state.remaining, 100)
      })
    )
  }

  it.effect("names an argument that is missing, and a variable by its name", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const missing = yield* post(`{ search(query: "q") { creditsUsed } }`)
      assert.deepStrictEqual(paths(missing), ["collection"])
      const variable = yield* post(
        `query ($topK: Int!, $minScore: Float) {
          search(query: "q", collection: "papers", topK: $topK, minScore: $minScore) { creditsUsed }
        }`,
        { topK: "five", minScore: [] }
      )
      assert.deepStrictEqual(paths(variable), ["topK", "minScore"])
    })
  )

  it.effect("checks the default of a variable too", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const answer = yield* post(
        `query ($topK: Int = "five") { search(query: "q", collection: "papers", topK: $topK) { creditsUsed } }`
      )
      assert.deepStrictEqual(paths(answer), ["topK"])
      const fitting = yield* post(
        `query ($topK: Int = 3) { search(query: "q", collection: "papers", topK: $topK) { results { content } } }`
      )
      assert.deepStrictEqual(fitting.data, { search: { results: [{ content: "q 3 0" }] } })
    })
  )

  it.effect("names elements of lists by their position", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const index = "mutation ($input: IndexInput!) { index(input: $input) { creditsUsed } }"
      const document = { id: "1", content: "c" }
      const wrongType = yield* post(index, {
        input: { collection: "c", documents: [document, { id: 2, content: "c" }] }
      })
      assert.deepStrictEqual(paths(wrongType), ["documents.1.id"])
      const twice = yield* post(index, { input: { collection: "c", documents: [document, document] } })
      assert.deepStrictEqual(paths(twice), ["documents.1.id"])
      const deep = yield* post(index, {
        input: {
          collection: "c",
          documents: [{ ...document, metadata: JSON.parse(`{"a":${"[".repeat(40)}${"]".repeat(40)}}`) }]
        }
      })
      assert.deepStrictEqual(paths(deep), ["documents.0.metadata"])
    })
  )

  it.effect("quotes only the beginning of a long value, and names a hundred places at most", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const embed = "mutation ($input: EmbedInput!) { embed(input: $input) { dimensions } }"
      const long = yield* post(embed, { input: { texts: ["t"], model: "x".repeat(100_000) } })
      assert.deepStrictEqual(codesOf(long), ["validation_failed"])
      assert.isBelow(long.text.length, 1000)
      const many = yield* post(embed, { input: { texts: Array.from({ length: 100_000 }, () => 1) } })
      assert.deepStrictEqual(codesOf(many), ["validation_failed"])
      assert.lengthOf(paths(many), 100)
      const empty = yield* post(embed, { input: { texts: Array.from({ length: 5000 }, () => "") } })
      assert.lengthOf(paths(empty), 100)
    })
  )

  it.effect("says what is wrong with a document, in the same contract", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const documents = [
        "{",
        "",
        "{ nothing }",
        "{ status { name(x: 1) } }",
        "{ status }",
        "query A { status { name } } query B { status { name } }",
        "subscription { status { name } }",
        "query ($x: Nothing) { status { name } }",
        "{ ...F } fragment F on Query { ...F }"
      ]
      for (const document of documents) {
        const answer = yield* post(document)
        assert.strictEqual(answer.status, 400, document)
        assert.isNotEmpty(answer.errors)
        for (const { extensions } of answer.errors) {
          assert.strictEqual(extensions["code"], "validation_failed", document)
          assert.strictEqual(extensions["request_id"], answer.headers.get("x-request-id"))
        }
      }
    })
  )
})
