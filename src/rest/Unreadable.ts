import { randomUUID } from "node:crypto"
import { type Server, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { Predicate } from "effect"
import { ApiError } from "../operations/ApiError.ts"

/**
 * What Node's HTTP parser refuses never becomes a request, and Node would answer it with an empty body. Here it gets the
 * error envelope, too.
 */

const unreadable = (code: unknown): ApiError => {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new ApiError({ code: "headers_too_large", message: "The request's headers are too large." })
  }
  return code === "ERR_HTTP_REQUEST_TIMEOUT"
    ? new ApiError({ code: "request_timeout", message: "The request did not arrive in time." })
    : new ApiError({ code: "validation_failed", message: "The request is not well-formed HTTP." })
}

/** Node keeps the response under way with its socket; a second head in the middle of it would be read as its body. */
const isAnswering = (socket: Duplex): boolean =>
  Predicate.hasProperty(socket, "_httpMessage") &&
  Predicate.hasProperty(socket._httpMessage, "headersSent") &&
  socket._httpMessage.headersSent === true

const refuse = (socket: Duplex, error: ApiError, headers: ReadonlyArray<string> = []) => {
  if (!socket.writable || isAnswering(socket)) return socket.destroy()
  const requestId = randomUUID()
  const body = JSON.stringify({ success: false, error: error.toBody(requestId) })
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    "connection: close",
    ...headers
  ]
  return socket.end(`${head.join("\r\n")}\r\n\r\n${body}`)
}

/** Answers in the envelope what is no request to Node. */
export const answerUnreadable = (server: Server): Server =>
  server
    .on("clientError", (error: NodeJS.ErrnoException, socket) => refuse(socket, unreadable(error.code)))
    .on("connect", (_, socket) =>
      refuse(socket, new ApiError({ code: "method_not_allowed", message: "This is no proxy." }), ["allow: GET, POST"])
    )
    // An expectation that nobody knows may be ignored (RFC 9110, section 10.1.1).
    .on("checkExpectation", (request, response) => server.emit("request", request, response))
