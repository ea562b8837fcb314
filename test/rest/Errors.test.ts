import { connect } from "node:net"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, Gateway, layerGateway } from "../support/Gateway.ts"

const BODY_LIMIT = 64 * 1024

/** The error contract, whatever went wrong. */
const assertError = (answer: Answer, status: number, code: string) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.strictEqual(answer.json.success, false)
  assert.strictEqual(answer.json.error.code, code)
  assert.strictEqual(answer.json.error.status, status)
  assert.isBoolean(answer.json.error.retryable)
  assert.isNotEmpty(answer.json.error.message)
  assert.strictEqual(answer.json.error.request_id, answer.headers.get("x-request-id"))
}

const paths = (answer: Answer): ReadonlyArray<string> =>
  answer.json.error.details.map(({ path }: { readonly path: string }) => path)

const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`

layer(layerGateway({ SLUICE_MAX_BODY_SIZE: `${BODY_LIMIT} B`, SLUICE_CORS_ORIGINS: "https://app.example" }))(
  "REST errors",
  (it) => {
    describe("what is not a valid body", () => {
      const bodies: ReadonlyArray<readonly [name: string, body: string, status: number, code: string]> = [
        ["an empty body", " ", 400, "invalid_json"],
        ["half a body", '{"prompt": "a', 400, "invalid_json"],
        ["plain text", "hello", 400, "invalid_json"],
        ["null", "null", 400, "validation_failed"],
        ["a list", "[]", 400, "validation_failed"],
        ["a number", "1", 400, "validation_failed"],
        ["an empty object", "{}", 400, "validation_failed"],
        ["lists nested 30,000 deep", nested(30_000), 400, "validation_failed"],
        ["deep nesting in a field", `{"prompt": ${nested(30_000)}}`, 400, "validation_failed"],
        ["deep nesting in a field that nobody reads", `{"constructor": ${nested(30_000)}}`, 400, "validation_failed"],
        ["only __proto__", '{"__proto__": {"prompt": "hello"}}', 400, "validation_failed"],
        [
          "a vendor called constructor",
          '{"prompt": "a", "model": {"provider": "constructor"}}',
          400,
          "provider_not_configured"
        ],
        [
          "a vendor called __proto__",
          '{"prompt": "a", "model": {"provider": "__proto__"}}',
          400,
          "provider_not_configured"
        ],
        ["a body over the limit", JSON.stringify({ prompt: "a".repeat(BODY_LIMIT) }), 413, "payload_too_large"]
      ]
      it.effect.each(bodies)("answers %s in the envelope", ([, body, status, code]) =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const { key } = yield* gateway.tenant()
          assertError(yield* gateway.request("/v1/generate", { key, body }), status, code)
        })
      )

      it.effect("says 400 to a POST without a body", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const { key } = yield* gateway.tenant()
          const answer = yield* gateway.request("/v1/embed", { key, method: "POST" })
          assertError(answer, 400, "invalid_json")
        })
      )

      it.effect("counts chunked bodies too", () =>
        Effect.gen(function* () {
          const { url } = yield* Gateway
          const gateway = yield* Gateway
          const { key } = yield* gateway.tenant()
          const status = yield* Effect.promise(() => chunkedPost(new URL(url), key, BODY_LIMIT + 1))
          assert.include(status, " 413 ")
        })
      )

      it.effect("takes JSON alone", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const { key } = yield* gateway.tenant()
          const answer = yield* gateway.request("/v1/generate", {
            key,
            body: '{"prompt": "a"}',
            headers: { "content-type": "text/plain" }
          })
          assertError(answer, 415, "unsupported_media_type")
          for (const headers of [{ "content-type": "application/vnd.api+json" }, { "content-encoding": "gzip" }]) {
            const other = yield* gateway.request("/v1/generate", { key, body: '{"prompt": "a"}', headers })
            assertError(other, 415, "unsupported_media_type")
          }
        })
      )
    })

    describe("what does not fit the schema", () => {
      const cases: ReadonlyArray<readonly [path: string, body: unknown, details: ReadonlyArray<string>]> = [
        ["/v1/generate", { prompt: "" }, ["prompt"]],
        [
          "/v1/generate",
          { prompt: 1, options: { temperature: 2.1, max_tokens: 0 } },
          ["prompt", "options.temperature", "options.max_tokens"]
        ],
        [
          "/v1/generate",
          { prompt: "a", options: { max_tokens: 1.5, system: 1 } },
          ["options.max_tokens", "options.system"]
        ],
        ["/v1/generate", { prompt: "a", model: { name: "" } }, ["model.name"]],
        ["/v1/embed", { texts: [] }, ["texts"]],
        ["/v1/embed", { texts: ["a", ""] }, ["texts.1"]],
        ["/v1/embed", { texts: Array.from({ length: 2049 }, () => "a") }, ["texts"]],
        ["/v1/embed", { texts: ["a"], model: { dimensions: 5000 } }, ["model.dimensions"]],
        [
          "/v1/index",
          { collection: "a/b", documents: [{ id: "", content: "" }] },
          ["collection", "documents.0.id", "documents.0.content"]
        ],
        ["/v1/index", { collection: "a", documents: [] }, ["documents"]],
        [
          "/v1/index",
          {
            collection: "a",
            documents: [
              { id: "1", content: "a" },
              { id: "1", content: "b" }
            ]
          },
          ["documents.1.id"]
        ],
        [
          "/v1/index",
          { collection: "a", documents: [{ id: "1", content: "a", metadata: [] }] },
          ["documents.0.metadata"]
        ],
        ["/v1/search", { query: "", collection: "a", top_k: 101, min_score: 2 }, ["query", "top_k", "min_score"]]
      ]
      it.effect.each(cases)("names every place that is wrong: %s %j", ([path, body, details]) =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const tenant = yield* gateway.tenant()
          const answer = yield* gateway.request(path, { key: tenant.key, body })
          assertError(answer, 400, "validation_failed")
          assert.deepStrictEqual(paths(answer), details)
          const account = yield* gateway.account(tenant)
          assert.deepStrictEqual([account.posted, account.held], [0, 0])
        })
      )

      it.effect("reports one problem where looking for all of them would cost too much", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const { key } = yield* gateway.tenant()
          const texts = Array.from({ length: 15_000 }, () => "")
          const answer = yield* gateway.request("/v1/embed", { key, body: { texts } })
          assertError(answer, 400, "validation_failed")
          assert.lengthOf(paths(answer), 1)
        })
      )

      it.effect("refuses metadata that nests too deep to be read again", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const { key } = yield* gateway.tenant()
          const body = `{"collection": "a", "documents": [{"id": "1", "content": "a", "metadata": {"x": ${nested(1000)}}}]}`
          assertError(yield* gateway.request("/v1/index", { key, body }), 400, "validation_failed")
        })
      )
    })

    describe("who may not call", () => {
      it.effect("says 401 and how to authenticate, to all of /v1", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          for (const [method, path] of [
            ["GET", "/v1/"],
            ["POST", "/v1/generate"],
            ["POST", "/v1/embed"],
            ["POST", "/v1/index"],
            ["POST", "/v1/search"]
          ] as const) {
            for (const key of [undefined, "wrong", "sl_000000000000_00000000000000000000000000000000aaaaaaaa"]) {
              const answer = yield* gateway.request(path, { method, ...(key === undefined ? {} : { key }) })
              assertError(answer, 401, "unauthorized")
              assert.strictEqual(answer.headers.get("www-authenticate"), "Bearer")
            }
          }
        })
      )

      it.effect("says 403 to a key without the scope, and charges nothing", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const tenant = yield* gateway.tenant({ scopes: ["admin"] })
          assertError(
            yield* gateway.request("/v1/embed", { key: tenant.key, body: { texts: ["a"] } }),
            403,
            "forbidden"
          )
          assert.strictEqual((yield* gateway.account(tenant)).posted, 0)
        })
      )

      it.effect("says 402 to a pool that is too small, with what is missing and nothing to retry", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const { key } = yield* gateway.tenant({ credits: 0.4 })
          const answer = yield* gateway.request("/v1/embed", { key, body: { texts: ["a"] } })
          assertError(answer, 402, "insufficient_credits")
          assert.isNull(answer.headers.get("retry-after"))
          assert.deepStrictEqual(answer.json.error.details, [
            { path: "required", message: "0.5" },
            { path: "available", message: "0.4" }
          ])
        })
      )

      it.effect("says 429 past the limit, and when to come back", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const { key } = yield* gateway.tenant({ perMinute: 1 })
          const call = gateway.request("/v1/embed", { key, body: { texts: ["a"] } })
          const first = yield* call
          assert.strictEqual(first.status, 200)
          assert.match(first.headers.get("ratelimit") ?? "", /^"minute";r=0;t=60,"day";r=999999;t=\d+$/)
          const second = yield* call
          assertError(second, 429, "rate_limited")
          const retryAfter = Number(second.headers.get("retry-after"))
          assert.isTrue(retryAfter > 50 && retryAfter <= 60, String(retryAfter))
        })
      )
    })

    describe("where nothing is", () => {
      it.effect("says 404 in the envelope", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          for (const path of ["/", "/v1/nothing", "/v2/generate", "/constructor", "/__proto__", "/v1/generate/x"]) {
            assertError(yield* gateway.request(path), 404, "not_found")
          }
        })
      )

      it.effect("says 405 and what is allowed", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const get = yield* gateway.request("/v1/generate")
          assertError(get, 405, "method_not_allowed")
          assert.strictEqual(get.headers.get("allow"), "POST")
          const put = yield* gateway.request("/v1/?x=1", { method: "PUT" })
          assertError(put, 405, "method_not_allowed")
          assert.strictEqual(put.headers.get("allow"), "GET")
        })
      )

      it.effect("says which collection is not there", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const tenant = yield* gateway.tenant()
          const answer = yield* gateway.request("/v1/search", {
            key: tenant.key,
            body: { query: "a", collection: "__proto__" }
          })
          assertError(answer, 404, "collection_not_found")
          assert.strictEqual((yield* gateway.account(tenant)).posted, 0)
        })
      )
    })

    describe("how the exchange is told", () => {
      it.effect("keeps a well-formed request id and replaces any other", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const kept = yield* gateway.request("/v1/nothing", { headers: { "x-request-id": "trace-1" } })
          assert.strictEqual(kept.json.error.request_id, "trace-1")
          const replaced = yield* gateway.request("/v1/nothing", { headers: { "x-request-id": "a b" } })
          assert.match(replaced.json.error.request_id, /^[0-9a-f-]{36}$/)
        })
      )

      it.effect("adds the members of RFC 9457 for those who ask", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const answer = yield* gateway.request("/v1/nothing", { headers: { accept: "application/problem+json" } })
          assertError(answer, 404, "not_found")
          assert.strictEqual(answer.headers.get("content-type"), "application/problem+json")
          assert.deepInclude(answer.json, { type: "about:blank", title: "Not Found", status: 404 })
        })
      )

      it.effect("refuses a deadline that makes no sense", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const { key } = yield* gateway.tenant()
          for (const value of ["0", "-1", "601", "soon", "1e3", "NaN"]) {
            const headers = { "request-timeout": value }
            const answer = yield* gateway.request("/v1/generate", { key, body: { prompt: "a" }, headers })
            assertError(answer, 400, "validation_failed")
            assert.deepStrictEqual(paths(answer), ["Request-Timeout"])
          }
        })
      )

      it.effect("lets pages of configured origins call, and no others", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const from = (origin: string) => gateway.request("/v1/", { method: "OPTIONS", headers: { origin } })
          assert.strictEqual(
            (yield* from("https://app.example")).headers.get("access-control-allow-origin"),
            "https://app.example"
          )
          assert.notStrictEqual(
            (yield* from("https://evil.example")).headers.get("access-control-allow-origin"),
            "https://evil.example"
          )
        })
      )

      it.effect.each([
        ["two lengths", "POST /v1/embed HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400],
        ["an unknown method", "FOO / HTTP/1.1\r\nHost: a\r\n\r\n", 400],
        ["no host", "GET /v1/ HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
        ["headers of 70 KB", `GET /v1/ HTTP/1.1\r\nHost: a\r\nX: ${"a".repeat(70_000)}\r\n\r\n`, 431],
        ["a tunnel", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 405]
      ] as const)("answers %s in the envelope, before it is a request", ([, text, status]) =>
        Effect.gen(function* () {
          const { url } = yield* Gateway
          const answer = yield* Effect.promise(() => raw(new URL(url), text))
          const [head = "", body = ""] = answer.split("\r\n\r\n")
          assert.include(head, ` ${status} `)
          const requestId = /^x-request-id: (.+)$/m.exec(head)?.[1]?.trim()
          const { error, success } = JSON.parse(body)
          assert.deepInclude({ success, ...error }, { success: false, status, request_id: requestId })
        })
      )

      it.effect("answers a body that breaks off into rubbish in the envelope", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const { key } = yield* gateway.tenant()
          const head = `POST /v1/embed HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nTransfer-Encoding: chunked`
          const answer = yield* Effect.promise(() => raw(new URL(gateway.url), `${head}\r\n\r\nzz\r\n`))
          assert.match(answer, /^HTTP\/1\.1 400 /)
          assert.strictEqual(JSON.parse(answer.split("\r\n\r\n")[1]!).error.code, "validation_failed")
        })
      )

      it.effect("tells address from address by every letter and slash but the last", () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const { key } = yield* gateway.tenant()
          for (const path of ["/V1/", "//v1/", "/v1//"]) {
            assertError(yield* gateway.request(path, { key }), 404, "not_found")
          }
        })
      )

      it.effect("refuses a request with two Host headers", () =>
        Effect.gen(function* () {
          const { url } = yield* Gateway
          const answer = yield* Effect.promise(() =>
            raw(new URL(url), "GET /v1/ HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n")
          )
          assert.include(answer, " 400 ")
        })
      )
    })
  }
)

/** Writes `text` to the server and reads until it hangs up. */
const raw = ({ hostname, port }: URL, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = ""
    const socket = connect(Number(port), hostname, () => socket.write(text))
    socket.setEncoding("utf8")
    socket.on("data", (chunk) => (answer += chunk))
    socket.on("error", reject)
    socket.on("close", () => resolve(answer))
  })

/** Posts `length` bytes without saying how many; answers the status line. */
const chunkedPost = async (url: URL, key: string, length: number): Promise<string> => {
  const head = `POST /v1/generate HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`
  const answer = await raw(url, `${head}${length.toString(16)}\r\n${"a".repeat(length)}\r\n0\r\n\r\n`)
  return answer.split("\r\n", 1)[0]!
}
