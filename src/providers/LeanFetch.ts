import http from "node:http"
import https from "node:https"
import { pipeline, type Readable } from "node:stream"
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
const decompressed = (incoming: http.IncomingMessage): Readable => {
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

const readBody = (incoming: http.IncomingMessage, maxBytes: number): Promise<Buffer<ArrayBuffer>> => {
  const { promise, reject, resolve } = Promise.withResolvers<Buffer<ArrayBuffer>>()
  const chunks: Array<Buffer> = []
  let size = 0
  const body = decompressed(incoming)
  body
    .on("data", (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size > maxBytes) body.destroy(new ResponseUnreadable("The vendor's answer is too large"))
    })
    .once("end", () => resolve(Buffer.concat(chunks, size)))
    .on("error", reject)
  incoming.once("close", () => {
    // A connection that ends inside a body may end its stream without an error.
    if (!incoming.complete) reject(incoming.errored ?? new ResponseUnreadable("The vendor's answer was cut"))
  })
  return promise
}

/** A response whose whole body is here: its readers cost nothing, where the built-in ones go through a stream. */
class BufferedResponse extends Response {
  readonly #bytes: Buffer<ArrayBuffer>
  constructor(bytes: Buffer<ArrayBuffer>, init: ResponseInit) {
    super(null, init)
    this.#bytes = bytes
  }
  override async text(): Promise<string> {
    return this.#bytes.toString("utf8")
  }
  override async json(): Promise<unknown> {
    return JSON.parse(this.#bytes.toString("utf8"))
  }
  override async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(this.#bytes).buffer
  }
}

const toHeaders = (incoming: http.IncomingMessage): Headers => {
  const headers = new Headers()
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i]!, incoming.rawHeaders[i + 1]!)
  }
  return headers
}

const toResponse = async (incoming: http.IncomingMessage, maxBytes: number): Promise<Response> =>
  new BufferedResponse(await readBody(incoming, maxBytes), {
    status: incoming.statusCode!,
    headers: toHeaders(incoming)
  })

const toRecord = (headers: RequestInit["headers"]): Record<string, string> =>
  Object.fromEntries(headers instanceof Headers ? headers : new Headers(headers))

const send = (url: URL, init: RequestInit): Promise<http.IncomingMessage> => {
  const { promise, reject, resolve } = Promise.withResolvers<http.IncomingMessage>()
  const { agent, client } =
    url.protocol === "http:" ? { agent: agents["http:"], client: http } : { agent: agents["https:"], client: https }
  const request = client.request(url, {
    agent,
    method: init.method ?? "GET",
    headers: { ...toRecord(init.headers), "accept-encoding": "gzip, br" },
    ...(init.signal ? { signal: init.signal } : {})
  })
  request.once("socket", (socket) => {
    if (!socket.connecting) return
    const timer = setTimeout(() => request.destroy(new Error("The connection timed out")), CONNECT_TIMEOUT_MS)
    const stop = () => clearTimeout(timer)
    socket.once(url.protocol === "https:" ? "secureConnect" : "connect", stop).once("close", stop)
  })
  request.once("response", resolve).on("error", reject)
  request.end(init.body ?? undefined)
  return promise
}

/**
 * A `fetch` that sends requests whose body is text, as the SDKs' JSON calls are, and answers when the whole body has
 * arrived, which must not be longer than `maxBytes` once decompressed.
 */
export const makeLeanFetch =
  (maxBytes: number) =>
  async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    if (input instanceof Request || (init.body && typeof init.body !== "string")) {
      throw new TypeError("Only text can be sent")
    }
    return toResponse(await send(new URL(input), init), maxBytes)
  }

export const leanFetch = makeLeanFetch(MAX_RESPONSE_BYTES)
