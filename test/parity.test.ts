import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  documentOf,
  graphQlContracts,
  inCamelCase,
  restContracts,
  restPaths,
  rootFields,
  toGraphQlNames,
  variablesOf
} from "./graphql/Contracts.ts"
import { type GatewayState, keys, startGateway } from "./graphql/FakeGateway.ts"

/** REST and GraphQL are the same operations. */

/** What GraphQL has beyond REST. */
const beyondRest = [
  "apiKeys",
  "createApiKey",
  "createOrganization",
  "credits",
  "grantCredits",
  "revokeApiKey",
  "rotateApiKey",
  "setLimits",
  "usage"
]

describe("The contracts of REST and GraphQL", () => {
  it("have the same operations", () => {
    const graphQl = Object.keys(graphQlContracts).filter((name) => !beyondRest.includes(name))
    assert.sameMembers(graphQl, Object.keys(restContracts))
    assert.isAbove(graphQl.length, 4)
  })

  for (const operation of Object.keys(restContracts)) {
    it(`take and answer the same fields, required alike and of the same types, in ${operation}`, () => {
      assert.deepStrictEqual(graphQlContracts[operation], restContracts[operation])
      assert.isNotEmpty(restContracts[operation]?.output)
    })
  }

  it("take an idempotency key for every mutation that costs, as REST does for every POST", () => {
    const mutations = rootFields.filter(({ name, root }) => root === "mutation" && name in restContracts)
    assert.isNotEmpty(mutations)
    for (const { args, name } of mutations) {
      assert.include(
        args.map((arg) => `${arg.name}: ${arg.type}`),
        "idempotencyKey: String",
        name
      )
    }
  })

  it("let one operation fail without taking the answers of others with it", () => {
    for (const { name, type } of rootFields) assert.notMatch(String(type), /!$/, name)
  })
})

interface Case {
  readonly operation: string
  readonly body?: unknown
  readonly key?: string
  readonly given?: (state: GatewayState) => void
  readonly code?: string
  /** The GraphQL library words what is wrong with a type; the places are the same. */
  readonly wordedApart?: true
}

const document = { id: "1", content: "text" }
const generate = (body: object): Case => ({ operation: "generate", body: { prompt: "hello", ...body } })
const failing = (code: string, { body, operation }: Case): Case => ({ operation, body, code })
const invalid = (operation: string, body: unknown): Case => ({ operation, body, code: "validation_failed" })
const wrongType = (operation: string, body: unknown): Case => ({ ...invalid(operation, body), wordedApart: true })
const search = { operation: "search", body: { query: "q", collection: "papers" } }

const successes: ReadonlyArray<Case> = [
  { operation: "status" },
  generate({}),
  generate({ model: { provider: "local", name: "warning" }, options: { temperature: 0, max_tokens: 9, system: "s" } }),
  { operation: "embed", body: { texts: ["one", "three"], model: { dimensions: 3 } } },
  search,
  { operation: "search", body: { query: "q", collection: "papers", top_k: 1, min_score: 0.25 } },
  {
    operation: "index",
    body: {
      collection: "papers",
      documents: [
        { ...document, title: "T", metadata: { snake_case: { a_b: [null] } } },
        { ...document, id: "2" }
      ]
    }
  }
]

const refusals: ReadonlyArray<Case> = [
  ...Object.keys(restContracts).map((operation) => ({ operation, body: {}, key: "", code: "unauthorized" })),
  ...Object.keys(restContracts).map((operation) => ({
    operation,
    body: {},
    key: keys.databaseDown,
    code: "unavailable"
  })),
  { operation: "index", body: { collection: "c", documents: [document] }, key: keys.invokeOnly, code: "forbidden" },
  {
    ...search,
    code: "rate_limited",
    given: (state) => {
      state.remaining = 0
    }
  },
  {
    ...search,
    code: "insufficient_credits",
    given: (state) => {
      state.grantedMicro = 1
    }
  },
  failing("collection_not_found", { operation: "search", body: { query: "q", collection: "none" } }),
  failing("embedding_mismatch", { operation: "index", body: { collection: "mismatched", documents: [document] } }),
  failing("provider_not_configured", generate({ model: { provider: "acme" } })),
  failing("model_not_found", generate({ model: { name: "missing" } })),
  failing("validation_failed", generate({ model: { name: "refusing" } })),
  failing("validation_failed", generate({ options: { max_tokens: 1001 } })),
  failing("provider_error", generate({ model: { name: "failing" } })),
  failing("provider_overloaded", generate({ model: { name: "overloaded" } })),
  failing("provider_timeout", generate({ model: { name: "late" } })),
  failing("internal", generate({ model: { name: "buggy" } })),
  failing("provider_not_configured", { operation: "embed", body: { texts: ["t"], model: { provider: "acme" } } }),
  invalid("generate", { prompt: "" }),
  invalid("generate", { prompt: "p", model: { provider: "", name: "x".repeat(257) } }),
  invalid("generate", { prompt: "p", options: { temperature: 2.1, max_tokens: 0 } }),
  invalid("generate", { prompt: "p", options: { max_tokens: 1_048_577 } }),
  invalid("embed", { texts: [] }),
  invalid("embed", { texts: ["", "t", ""] }),
  invalid("embed", { texts: Array.from({ length: 2049 }, () => "t") }),
  invalid("embed", { texts: ["t"], model: { dimensions: 4097 } }),
  invalid("search", { query: "", collection: "", top_k: 0, min_score: 1.5 }),
  invalid("search", { query: "q", collection: "a b", top_k: 101 }),
  invalid("index", { collection: "c", documents: [] }),
  invalid("index", { collection: "c", documents: [document, document] }),
  invalid("index", { collection: "../c", documents: [{ id: "", content: "", title: "x".repeat(4097) }] }),
  invalid("index", { collection: "c", documents: [{ id: "\u0000", content: "c" }] }),
  wrongType("generate", {}),
  wrongType("generate", { prompt: 5 }),
  wrongType("generate", { prompt: ["p"] }),
  wrongType("generate", { prompt: "p", options: { max_tokens: "9", temperature: true } }),
  wrongType("generate", { prompt: "p", options: { max_tokens: 1.5 } }),
  wrongType("generate", { prompt: "p", model: "local" }),
  wrongType("embed", { texts: [5, "t", null] }),
  wrongType("embed", {}),
  wrongType("search", { query: 5, collection: {}, top_k: "5" }),
  wrongType("search", {}),
  wrongType("index", { collection: "c", documents: [{ id: 1 }, { content: "c" }] })
]

/** Runs a case over one surface of a gateway of its own, and tells what came back and what it cost. */
const overRest = Effect.fnUntraced(function* ({ body, given, key, operation }: Case) {
  const gateway = yield* startGateway
  given?.(gateway.state)
  const answer = yield* gateway.rest(
    restPaths[operation]!,
    body === undefined || operation === "status" ? undefined : body,
    { key }
  )
  const parsed = JSON.parse(answer.text)
  const data = parsed.error === undefined ? (parsed.data ?? parsed) : undefined
  return {
    error: parsed.error,
    data: toGraphQlNames(restContracts[operation]!.output, data),
    answer,
    state: gateway.state
  }
})

const withoutNulls = (value: unknown): unknown => JSON.parse(JSON.stringify(value, (_, inner) => inner ?? undefined))

const overGraphQl = Effect.fnUntraced(function* ({ body, given, key, operation }: Case) {
  const gateway = yield* startGateway
  given?.(gateway.state)
  const variables = body === undefined ? {} : variablesOf(operation, body)
  const answer = yield* gateway.post(documentOf(operation), variables, { key })
  const [error] = answer.errors
  return {
    error: error === undefined ? undefined : { message: error.message, ...error.extensions },
    data: answer.data?.[operation] ?? undefined,
    answer,
    state: gateway.state
  }
})

const chargesOf = ({ charges, holds, remaining }: GatewayState) => ({ charges, remaining, held: holds.size })

/** An error without what differs from call to call, its places in GraphQL's names. */
const comparable = (error: Record<string, unknown>, wordedApart: boolean) => {
  const { details, request_id, ...rest } = error
  const places = (details ?? []) as ReadonlyArray<{ readonly path: string; readonly message: string }>
  return {
    ...rest,
    details: places
      .map(({ message, path }) => ({
        path: path.split(".").map(inCamelCase).join("."),
        message: wordedApart ? "" : message
      }))
      .sort((a, b) => a.path.localeCompare(b.path))
  }
}

const nameOf = ({ body, operation }: Case) => `${operation} ${JSON.stringify(body ?? {}).slice(0, 100)}`

describe("The same call over REST and GraphQL", () => {
  for (const success of successes) {
    it.effect(`gives the same data for the same charge: ${nameOf(success)}`, () =>
      Effect.gen(function* () {
        const rest = yield* overRest(success)
        const graphQl = yield* overGraphQl(success)
        assert.deepStrictEqual(graphQl.answer.errors, [])
        assert.isObject(rest.data)
        assert.deepStrictEqual(withoutNulls(graphQl.data), withoutNulls(rest.data))
        assert.deepStrictEqual(chargesOf(graphQl.state), chargesOf(rest.state))
        assert.deepStrictEqual(graphQl.state.indexed, rest.state.indexed)
      })
    )
  }

  for (const refusal of refusals) {
    it.effect(`fails with the same ${refusal.code}: ${nameOf(refusal)}`, () =>
      Effect.gen(function* () {
        const rest = yield* overRest(refusal)
        const graphQl = yield* overGraphQl(refusal)
        const wordedApart = refusal.wordedApart === true
        assert.strictEqual(rest.error.code, refusal.code)
        assert.strictEqual(rest.answer.status, rest.error.status)
        assert.deepStrictEqual(comparable(graphQl.error!, wordedApart), comparable(rest.error, wordedApart))
        assert.strictEqual(graphQl.answer.headers.get("retry-after"), rest.answer.headers.get("retry-after"))
        assert.strictEqual(graphQl.answer.headers.get("ratelimit"), rest.answer.headers.get("ratelimit"))
        assert.deepStrictEqual(chargesOf(graphQl.state), chargesOf(rest.state))
      })
    )
  }
})
