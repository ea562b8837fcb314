import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, keys, startGateway } from "./FakeGateway.ts"

const STATUS = "{ status { name } }"
const answered = { status: { name: "sluice" } }

const errorOf = ({ errors }: Answer) => errors[0]?.extensions

describe("GraphQL over HTTP", () => {
  it.effect("asks a caller without a valid key for one, before reading the body", () =>
    Effect.gen(function* () {
      const { post, postText } = yield* startGateway
      for (const key of ["", "wrong"]) {
        for (const answer of [yield* post(STATUS, {}, { key }), yield* postText("not JSON", { key })]) {
          assert.strictEqual(answer.status, 401)
          assert.strictEqual(answer.headers.get("www-authenticate"), "Bearer")
          assert.deepStrictEqual(errorOf(answer), {
            code: "unauthorized",
            status: 401,
            retryable: false,
            request_id: answer.headers.get("x-request-id")
          })
          assert.isNull(answer.headers.get("ratelimit"))
        }
      }
    })
  )

  it.effect("shows the schema to callers with a key only", () =>
    Effect.gen(function* () {
      const { get, post } = yield* startGateway
      const query = "{ __schema { queryType { name } } }"
      assert.strictEqual((yield* post(query, {}, { key: "" })).status, 401)
      assert.strictEqual((yield* get(`/graphql?query=${encodeURIComponent(query)}`, { key: "" })).status, 401)
      const known = yield* post(query, {}, { key: keys.invokeOnly })
      assert.deepStrictEqual(known.data, { __schema: { queryType: { name: "Query" } } })
    })
  )

  it.effect("answers 503 while the database cannot tell who calls", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const answer = yield* post(STATUS, {}, { key: keys.databaseDown })
      assert.strictEqual(answer.status, 503)
      assert.strictEqual(errorOf(answer)?.["code"], "unavailable")
      assert.strictEqual(answer.headers.get("retry-after"), "1")
    })
  )

  it.effect("tells every authenticated caller about the rate limits, also when it refuses the request", () =>
    Effect.gen(function* () {
      const { post, postText } = yield* startGateway
      for (const answer of [yield* post(STATUS), yield* postText("{"), yield* post("{ nothing }")]) {
        assert.strictEqual(answer.headers.get("ratelimit-policy"), `"minute";q=100;w=60,"day";q=100;w=86400`)
        assert.strictEqual(answer.headers.get("ratelimit"), `"minute";r=100;t=12,"day";r=100;t=12`)
      }
      const counted = yield* post(`mutation { embed(input: { texts: ["t"] }) { dimensions } }`)
      assert.strictEqual(counted.headers.get("ratelimit"), `"minute";r=99;t=12,"day";r=99;t=12`)
    })
  )

  it.effect("refuses bodies that are no GraphQL request, each with its code", () =>
    Effect.gen(function* () {
      const { postText } = yield* startGateway
      const query = JSON.stringify(STATUS)
      const bodies: ReadonlyArray<readonly [body: string, code: string]> = [
        ["", "invalid_json"],
        ["{", "invalid_json"],
        ["\u0000", "invalid_json"],
        ["null", "validation_failed"],
        ["5", "validation_failed"],
        [`"text"`, "validation_failed"],
        ["[]", "validation_failed"],
        [`[{"query": ${query}}]`, "validation_failed"],
        ["{}", "validation_failed"],
        [`{"query": 5}`, "validation_failed"],
        [`{"query": null}`, "validation_failed"],
        [`{"query": ${query}, "variables": []}`, "validation_failed"],
        [`{"query": ${query}, "variables": "{}"}`, "validation_failed"],
        [`{"query": ${query}, "operationName": "Other"}`, "validation_failed"],
        [`{"query": ${query}, "constructor": 1}`, "validation_failed"],
        [`{"query": ${query}, "__proto__": {"a": 1}}`, "validation_failed"],
        [`{"__proto__": {"query": ${query}}}`, "validation_failed"],
        ["[".repeat(100_000) + "]".repeat(100_000), "validation_failed"]
      ]
      for (const accept of ["*/*", "application/json", "application/graphql-response+json", "image/png"]) {
        for (const [body, code] of bodies) {
          const answer = yield* postText(body, { headers: { accept } })
          assert.strictEqual(answer.status, 400, body.slice(0, 80))
          assert.strictEqual(errorOf(answer)?.["code"], code, body.slice(0, 80))
        }
      }
    })
  )

  it.effect("refuses another media type and a body over the limit, chunked bodies too", () =>
    Effect.gen(function* () {
      const { postText } = yield* startGateway
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
        const answer = yield* postText(`{"query": "${STATUS}"}`, { headers: { "content-type": type } })
        assert.strictEqual(answer.status, 415)
        assert.strictEqual(errorOf(answer)?.["code"], "unsupported_media_type")
      }
      const large = JSON.stringify({ query: STATUS, variables: { large: "x".repeat(2 << 20) } })
      const chunked = new Blob([large]).stream()
      for (const answer of [yield* postText(large), yield* postText(chunked)]) {
        assert.strictEqual(answer.status, 413)
        assert.strictEqual(errorOf(answer)?.["code"], "payload_too_large")
      }
    })
  )

  it.effect("answers in the media type that the client asks for", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const typed = "application/graphql-response+json"
      const asked: ReadonlyArray<readonly [accept: string, type: string, invalid: number]> = [
        ["*/*", typed, 400],
        [typed, typed, 400],
        [`${typed}, application/json;q=0.9`, typed, 400],
        ["application/json", "application/json", 200],
        ["text/plain", typed, 400]
      ]
      for (const [accept, type, invalid] of asked) {
        const valid = yield* post(STATUS, {}, { headers: { accept } })
        assert.strictEqual(valid.status, 200)
        assert.strictEqual(valid.headers.get("content-type"), `${type}; charset=utf-8`)
        assert.strictEqual((yield* post("{ nothing }", {}, { headers: { accept } })).status, invalid)
      }
    })
  )

  it.effect("serves queries over GET, but no mutations", () =>
    Effect.gen(function* () {
      const { get } = yield* startGateway
      const address = (parameters: Record<string, string>) => `/graphql?${new URLSearchParams(parameters)}`
      const named = {
        query: 'query A($t: Int) { search(query: "q", collection: "papers", topK: $t) { results { content } } }'
      }
      const query = yield* get(address({ ...named, operationName: "A", variables: `{"t": 2}` }))
      assert.deepStrictEqual(JSON.parse(query.text).data, { search: { results: [{ content: "q 2 0" }] } })
      const mutation = yield* get(address({ query: `mutation { embed(input: { texts: ["t"] }) { dimensions } }` }))
      assert.strictEqual(mutation.status, 405)
      assert.strictEqual(mutation.headers.get("allow"), "POST")
      assert.strictEqual(JSON.parse(mutation.text).errors[0].extensions.code, "method_not_allowed")
      const variables = yield* get(address({ query: STATUS, variables: "{" }))
      assert.strictEqual(variables.status, 400)
      assert.strictEqual(JSON.parse(variables.text).errors[0].extensions.code, "invalid_json")
    })
  )

  it.effect("refuses a deadline that makes no sense", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      for (const timeout of ["0", "601", "soon", "-1", ""]) {
        const answer = yield* post(STATUS, {}, { headers: { "request-timeout": timeout } })
        assert.strictEqual(answer.status, 400)
        assert.deepInclude(errorOf(answer)?.["details"], {
          path: "Request-Timeout",
          message: "Expected seconds, more than 0 and at most 600"
        })
      }
    })
  )

  it.effect("keeps the request id of the client", () =>
    Effect.gen(function* () {
      const { post } = yield* startGateway
      const answer = yield* post("{ nothing }", {}, { headers: { "x-request-id": "mine-1" } })
      assert.strictEqual(errorOf(answer)?.["request_id"], "mine-1")
      assert.strictEqual(answer.headers.get("x-request-id"), "mine-1")
    })
  )

  it.effect("serves the IDE to browsers without a key, whole and confined to this server", () =>
    Effect.gen(function* () {
      const { get, post } = yield* startGateway
      const page = yield* get("/graphql", { key: "", headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } })
      assert.strictEqual(page.status, 200)
      assert.match(page.headers.get("content-type") ?? "", /^text\/html/)
      assert.include(page.headers.get("content-security-policy") ?? "", "connect-src 'self'")
      assert.notMatch(page.text, /<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?\/\//)
      assert.include(page.text, "mutation Generate")
      assert.deepStrictEqual((yield* post(STATUS)).data, answered)
    })
  )
})
