import { brotliCompressSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { leanFetch, makeLeanFetch } from "../../src/providers/LeanFetch.ts"
import { json, vendorServer } from "../support/VendorServer.ts"

const post = (url: string, init: RequestInit = {}) =>
  Effect.promise(() => leanFetch(url, { method: "POST", body: "{}", ...init }))

describe("the vendors' fetch", () => {
  it.effect("sends method, headers and text, and reads status, headers and text", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* vendorServer((response) =>
        json(response, 418, { text: "naïve 漢字 😀" }, { "x-one": "1", "set-cookie": ["a=1", "b=2"] })
      )
      const response = yield* post(`${url}/path?q=1`, { headers: { "X-Two": "2" }, body: '{"é":"😀"}' })
      assert.strictEqual(response.status, 418)
      assert.isFalse(response.ok)
      assert.strictEqual(response.headers.get("x-one"), "1")
      assert.deepStrictEqual(response.headers.getSetCookie(), ["a=1", "b=2"])
      assert.deepStrictEqual(yield* Effect.promise(() => response.json()), { text: "naïve 漢字 😀" })
      assert.strictEqual(requests[0]?.url, "/path?q=1")
      assert.strictEqual(requests[0]?.headers["x-two"], "2")
      assert.deepStrictEqual(requests[0]?.body, { é: "😀" })
    })
  )

  for (const [encoding, compress] of [
    ["gzip", gzipSync],
    ["br", brotliCompressSync]
  ] as const) {
    it.effect(`reads ${encoding}`, () =>
      Effect.gen(function* () {
        const text = "é".repeat(100_000)
        const { url } = yield* vendorServer((response) =>
          response.writeHead(200, { "content-encoding": encoding }).end(compress(text))
        )
        const response = yield* post(url)
        assert.strictEqual(yield* Effect.promise(() => response.text()), text)
        assert.strictEqual((yield* Effect.promise(() => response.arrayBuffer())).byteLength, 200_000)
      })
    )
  }

  for (const [name, headers, body] of [
    ["as it is sent", {}, Buffer.alloc(100_000)],
    ["once decompressed", { "content-encoding": "gzip" }, gzipSync(Buffer.alloc(10_000_000))]
  ] as const) {
    it.effect(`stops reading an answer that is too large ${name}`, () =>
      Effect.gen(function* () {
        const { url } = yield* vendorServer((response) => response.writeHead(200, headers).end(body))
        const error = yield* Effect.flip(
          Effect.tryPromise({ try: () => makeLeanFetch(50_000)(url), catch: (cause) => cause })
        )
        assert.include(String(error), "too large")
      })
    )
  }

  it.effect("keeps the connection for the next call", () =>
    Effect.gen(function* () {
      const ports = new Set<number | undefined>()
      const { url } = yield* vendorServer((response, _, request) => {
        ports.add(request.socket.remotePort)
        json(response, 200, {})
      })
      for (let call = 0; call < 5; call++) yield* post(url)
      assert.strictEqual(ports.size, 1)
    })
  )

  it.effect("does not follow a redirect", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* vendorServer((response) =>
        response.writeHead(302, { location: "/elsewhere" }).end()
      )
      assert.strictEqual((yield* post(url)).status, 302)
      assert.strictEqual(requests.length, 1)
    })
  )

  it.effect("rejects at once when its signal is aborted already", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* vendorServer((response) => json(response, 200, {}))
      const error = yield* Effect.flip(
        Effect.tryPromise({ try: () => leanFetch(url, { signal: AbortSignal.abort() }), catch: (cause) => cause })
      )
      assert.strictEqual(error instanceof Error && error.name, "AbortError")
      assert.strictEqual(requests.length, 0)
    })
  )

  it.effect("refuses a body that is not text", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Effect.tryPromise({
          try: () => leanFetch("http://127.0.0.1:1", { method: "POST", body: new Uint8Array(1) }),
          catch: (cause) => cause
        })
      )
      assert.instanceOf(error, TypeError)
    })
  )
})
