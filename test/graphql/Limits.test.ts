import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { getIntrospectionQuery } from "graphql"
import { type Answer, startGateway } from "./FakeGateway.ts"

const repeat = (text: string, times: number) => text.repeat(times)
const numbered = (times: number, make: (i: number) => string) =>
  Array.from({ length: times }, (_, i) => make(i)).join(" ")

const metadata = (json: string) =>
  `mutation { index(input: { collection: "c", documents: [{ id: "1", content: "c", metadata: ${json} }] }) { creditsUsed } }`

/** Documents that would cost much to read, check or run, if there were no limits. */
const hostile: ReadonlyArray<readonly [name: string, document: string]> = [
  ["10,000 aliases", `{ ${numbered(10_000, (i) => `a${i}: status { name }`)} }`],
  ["51 aliases", `{ ${numbered(51, (i) => `a${i}: status { name }`)} }`],
  ["a query 10,000 levels deep", `${repeat("{ status ", 10_000)}${repeat("}", 10_000)}`],
  ["a list nested 10,000 levels deep", metadata(`${repeat("[", 10_000)}${repeat("]", 10_000)}`)],
  ["a list nested 500 levels deep", metadata(`{ a: ${repeat("[", 500)}${repeat("]", 500)} }`)],
  ["an object nested 10,000 levels deep", metadata(`${repeat("{ a: ", 10_000)}1${repeat("}", 10_000)}`)],
  ["10,000 directives", `{ status ${repeat("@include(if: true) ", 10_000)} { name } }`],
  ["51 directives", `{ status ${repeat("@include(if: true) ", 51)} { name } }`],
  ["fragments in a circle", "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }"],
  [
    "fragments that double at each step",
    `{ ...F0 } ${numbered(30, (i) => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`)} fragment F30 on Query { status { name } }`
  ],
  ["inline fragments 12 levels deep", `{ ${repeat("... { ", 12)} status { name } ${repeat("}", 12)} }`],
  ["introspection in a circle", `{ __schema { types { ${repeat("fields { type { ", 8)} name ${repeat("} }", 8)} } } }`],
  [
    "introspection in a circle, by __type",
    `{ __type(name: "Query") { ${repeat("fields { type { ", 4)} name ${repeat("} }", 4)} } }`
  ],
  [
    "a type nested 10,000 levels deep",
    `query ($x: ${repeat("[", 10_000)}Int${repeat("]", 10_000)}) { status { name } }`
  ]
]

const codesOf = ({ errors }: Answer) => new Set(errors.map(({ extensions }) => extensions["code"]))

describe("GraphQL limits", () => {
  for (const [name, document] of hostile) {
    it.effect(`refuses ${name}`, () =>
      Effect.gen(function* () {
        const { post, state } = yield* startGateway
        const answer = yield* post(document)
        assert.isBelow(answer.status, 500)
        assert.deepStrictEqual(codesOf(answer), new Set(["validation_failed"]))
        assert.deepStrictEqual(state.indexed, [])
      })
    )
  }

  it.effect("refuses a document over its limits with 400 to every client", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const answer = yield* post(hostile[1]![1], {}, { headers: { accept: "application/json" } })
      assert.strictEqual(answer.status, 400)
    })
  )

  it.effect("serves a document with fifty aliases, and the introspection query of every tool", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const aliases = yield* post(`{ ${numbered(50, (i) => `a${i}: status { name }`)} }`)
      assert.deepStrictEqual(aliases.errors, [])
      const query = getIntrospectionQuery({
        descriptions: true,
        directiveIsRepeatable: true,
        inputValueDeprecation: true,
        oneOf: true,
        schemaDescription: true,
        specifiedByUrl: true
      })
      const introspection = yield* post(query)
      assert.deepStrictEqual(introspection.errors, [])
    })
  )

  it.effect("serves a prompt of a large part of a megabyte, inline or as a variable", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const prompt = repeat("word ", 100_000)
      const inline = yield* post(`mutation { generate(input: { prompt: "${prompt}" }) { creditsUsed } }`)
      assert.deepStrictEqual(inline.errors, [])
      const variable = yield* post(`mutation ($p: String!) { generate(input: { prompt: $p }) { creditsUsed } }`, {
        p: prompt
      })
      assert.deepStrictEqual(variable.errors, [])
    })
  )

  it.effect("is not shaken by variables that nest deeply or have names of an object's own", () =>
    Effect.gen(function* () {
      const { postText } = yield* startGateway
      const nested = `${repeat("[", 100_000)}${repeat("]", 100_000)}`
      const bodies = [
        `{"query": "{ status { name } }", "variables": {"unused": ${nested}, "__proto__": {"a": 1}, "constructor": 1}}`,
        `{"query": "{ status { name } }", "extensions": {"unused": ${nested}}}`
      ]
      for (const body of bodies) {
        const answer = yield* postText(body)
        assert.deepStrictEqual(answer.data, { status: { name: "sluice" } })
      }
      const used = yield* postText(
        `{"query": "mutation ($input: EmbedInput!) { embed(input: $input) { dimensions } }", "variables": {"input": {"texts": ${nested}}}}`
      )
      assert.deepStrictEqual(codesOf(used), new Set(["validation_failed"]))
    })
  )
})
