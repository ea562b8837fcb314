import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Gateway, layerGateway } from "../support/Gateway.ts"
import { documentOf, restContracts, toGraphQlNames, variablesOf } from "./Contracts.ts"

const documents = [
  { id: "bread", title: "Bread", content: "Flour, water, salt and time.", metadata: { snake_case: { a_b: 1 } } },
  { id: "soup", title: "Soup", content: "Leeks, potatoes and a little cream." }
]

describe("GraphQL on the whole gateway", () => {
  layer(layerGateway(), { excludeTestServices: true })((it) => {
    it.effect("indexes, finds and charges as REST does, on the same collection and the same pool", () =>
      Effect.gen(function* () {
        const { account, graphql, request, tenant } = yield* Gateway
        const me = yield* tenant()
        const index = { collection: "recipes", documents }
        const indexed = yield* graphql(me, documentOf("index"), variablesOf("index", index))
        assert.deepInclude(indexed.json.data.index, { documentsIndexed: 2, creditsUsed: 1 })

        const query = { query: "flour and water", collection: "recipes", top_k: 2 }
        const overGraphQl = yield* graphql(me, documentOf("search"), variablesOf("search", query))
        const overRest = yield* request("/v1/search", { key: me.key, body: query })
        const found = overGraphQl.json.data.search
        assert.strictEqual(found.results[0].id, "bread")
        assert.deepInclude(found.results[0].metadata, { snake_case: { a_b: 1 } })
        assert.deepStrictEqual(found, toGraphQlNames(restContracts["search"]!.output, overRest.json.data))

        const { balance, spent } = (yield* graphql(me, documentOf("credits"))).json.data.credits
        assert.deepStrictEqual({ balance, spent }, { balance: 998, spent: 2 })
        assert.deepInclude(yield* account(me), { posted: 2_000_000, held: 0 })
      })
    )

    it.effect("keeps the collections of other organizations out of sight", () =>
      Effect.gen(function* () {
        const { graphql, tenant } = yield* Gateway
        const me = yield* tenant()
        yield* graphql(me, documentOf("index"), variablesOf("index", { collection: "mine", documents }))
        const query = variablesOf("search", { query: "flour", collection: "mine" })
        const answer = yield* graphql(yield* tenant(), documentOf("search"), query)
        assert.strictEqual(answer.json.errors[0].extensions.code, "collection_not_found")
      })
    )

    it.effect("admits exactly what the rate limit allows of calls in one document", () =>
      Effect.gen(function* () {
        const { account, graphql, tenant } = yield* Gateway
        const me = yield* tenant({ perMinute: 10 })
        const calls = Array.from({ length: 15 }, (_, i) => `e${i}: embed(input: { texts: ["t"] }) { creditsUsed }`)
        const { headers, json } = yield* graphql(me, `mutation { ${calls.join(" ")} }`)
        const codes = json.errors.map((error: { extensions: { code: string } }) => error.extensions.code)
        assert.deepStrictEqual(codes, Array(5).fill("rate_limited"))
        assert.isAbove(Number(headers.get("retry-after")), 0)
        assert.deepInclude(yield* account(me), { posted: 5_000_000, held: 0 })
      })
    )
  })
})
