import http from "node:http"
import https from "node:https"
import { pipeline } from "node:stream"
import { createBrotliDecompress, createGunzip } from "node:zlib"

/**
 * `fetch` for the vendors' SDKs over `node:http`: half the cost of the built-in one per call, no hidden time-out for
 * headers (models think for minutes), and a bound on what a vendor may send. It follows no redirects, so that a key
 * never travels to another host.
 */

/** 2,048 vectors of 3,072 numbers are about 130 MB of JSON. */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024
const CONNECT_TIMEOUT_MS = 10_000

const agents = {
  "http:": new http.Agent({ keepAlive: true, scheduling: "lifo" }),
  "https:": new https.Agent({ keepAlive: true, scheduling: "lifo" })
}

class ResponseUnreadable extends Error {
  override readonly name = "ResponseUnreadable"
}

/** The body as it was before compression. */
const decompressed = (incoming: http.IncomingMessage): NodeJS.ReadableStream => {
  const ignoreError = () => undefined // The reader of the last stream of the pipeline sees it.
  switch (incoming.headers["content-encoding"]) {
    case "gzip":
      return pipeline(incoming, createGunzip(), ignoreError)
    case "br":
      return pipeline(incoming, createBrotliDecompress(), ignoreError)
    default:
      return incoming
  }
}

const readBody = async (incoming: http.IncomingMessage): Promise<Buffer<ArrayBuffer>> => {
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of decompressed(incoming)) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > MAX_RESPONSE_BYTES) throw new ResponseUnreadable("The vendor's answer is too large")
    chunks.push(bytes)
  }
  // A connection that ends inside a body ends its stream, too.
  if (!incoming.complete) throw new ResponseUnreadable("The vendor's answer was cut")
  return Buffer.concat(chunks, size)
}

const toHeaders = (incoming: http.IncomingMessage): Headers => {
  const headers = new Headers()
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i]!, incoming.rawHeaders[i + 1]!)
  }
  return headers
}

const hasNoBody = (status: number): boolean => [204, 205, 304].includes(status)

const toResponse = async (incoming: http.IncomingMessage): Promise<Response> => {
  const body = await readBody(incoming)
  const status = incoming.statusCode!
  return new Response(hasNoBody(status) ? null : body, {
    status,
    headers: toHeaders(incoming)
  })
}

const send = (url: URL, init: RequestInit): Promise<http.IncomingMessage> => {
  const { promise, reject, resolve } = Promise.withResolvers<http.IncomingMessage>()
  const { agent, client } =
    url.protocol === "http:" ? { agent: agents["http:"], client: http } : { agent: agents["https:"], client: https }
  const request = client.request(url, {
    agent,
    method: init.method ?? "GET",
    headers: { ...Object.fromEntries(new Headers(init.headers)), "accept-encoding": "gzip, br" },
    ...(init.signal ? { signal: init.signal } : {})
  })
  request.once("socket", (socket) => {
    if (!socket.connecting) return
    const timer = setTimeout(() => request.destroy(new Error("The connection timed out")), CONNECT_TIMEOUT_MS)
    const stop = () => clearTimeout(timer)
    socket.once("connect", stop).once("close", stop)
  })
  request.once("response", resolve).once("error", reject)
  request.end(init.body ?? undefined)
  return promise
}

/** Sends requests whose body is text, as the SDKs' JSON calls are, and answers when the whole body has arrived. */
export const leanFetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
  if (input instanceof Request || (init.body && typeof init.body !== "string")) {
    throw new TypeError("Only text can be sent")
  }
  return toResponse(await send(new URL(input), init))
}
