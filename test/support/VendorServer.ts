import http from "node:http"
import type { AddressInfo } from "node:net"
import { Deferred, Effect, Redacted } from "effect"
import type { Endpoint } from "../../src/providers/Vendor.ts"

export const SERVER_KEY = "sk-server-key-0123456789"

export interface Received {
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: Record<string, unknown>
}

/** A vendor of which the test writes every byte, on a real socket; it stops with the scope. */
export const vendorServer = Effect.fnUntraced(function* (
  answer: (response: http.ServerResponse, received: Received, request: http.IncomingMessage) => void
) {
  const requests: Array<Received> = []
  const closed = yield* Deferred.make<void>()
  const server = http.createServer((request, response) => {
    request.socket.once("close", () => Deferred.doneUnsafe(closed, Effect.void))
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString()
      const received = { url: request.url ?? "", headers: request.headers, body: text === "" ? {} : JSON.parse(text) }
      requests.push(received)
      answer(response, received, request)
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const endpoint: Endpoint = { provider: "vendor", baseUrl: url, apiKey: Redacted.make(SERVER_KEY) }
  return { url, endpoint, requests, socketClosed: Deferred.await(closed) }
})

export const json = (
  response: http.ServerResponse,
  status: number,
  body: unknown,
  headers: http.OutgoingHttpHeaders = {}
) => void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
