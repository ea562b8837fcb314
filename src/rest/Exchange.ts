import { randomUUID } from "node:crypto"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { ByteSize, Clock, Config, Effect } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { ApiError } from "../operations/ApiError.ts"
import { CurrentRequestId } from "../operations/RequestId.ts"
import { withErrorResponse } from "./ErrorResponse.ts"

/**
 * What holds for every HTTP exchange of the server, whichever surface answers it: a request id, one log line, the error
 * envelope for what no route answers, and headers that keep browsers strict.
 */

const WELL_FORMED_ID = /^[\w.:/+=-]{1,128}$/

/** What the log says of an exchange whose client went away before the answer. */
const CLIENT_GONE = 499

const requestIdOf = (request: HttpServerRequest.HttpServerRequest): string => {
  const inbound = request.headers["x-request-id"]
  return inbound !== undefined && WELL_FORMED_ID.test(inbound) ? inbound : randomUUID()
}

const pathOf = (url: string): string => url.split(/[?#]/, 1)[0]!

const logExchange = (request: HttpServerRequest.HttpServerRequest, status: number, startedAt: number) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.logInfo(`${request.method} ${pathOf(request.url)} ${status}`).pipe(
      Effect.annotateLogs({ status, duration_ms: now - startedAt })
    )
  )

/** A request with two Host headers may mean one server to a proxy and another to us; without one it may mean any. */
const refuseUnclearHost = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void, ApiError> => {
  const { httpVersion, rawHeaders } = NodeHttpServerRequest.toIncomingMessage(request)
  const hosts = rawHeaders.filter((text, position) => position % 2 === 0 && text.toLowerCase() === "host")
  const isClear = hosts.length === 1 || (hosts.length === 0 && httpVersion === "1.0")
  return !isClear ? new ApiError({ code: "validation_failed", message: "Send one Host header." }) : Effect.void
}

/** The largest body that is read, chunked ones too. */
const bodyLimit = Config.ByteSize("SLUICE_MAX_BODY_SIZE").pipe(Config.withDefault(ByteSize.mebibytes(10)))

export const Exchange = HttpRouter.middleware(
  Effect.map(
    bodyLimit,
    (maxBodySize) => (httpEffect) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const requestId = requestIdOf(request)
        const startedAt = yield* Clock.currentTimeMillis
        return yield* withErrorResponse(Effect.andThen(refuseUnclearHost(request), httpEffect)).pipe(
          Effect.map(HttpServerResponse.setHeaders({ "x-request-id": requestId, "x-content-type-options": "nosniff" })),
          Effect.tap((response) => logExchange(request, response.status, startedAt)),
          Effect.onInterrupt(() => logExchange(request, CLIENT_GONE, startedAt)),
          Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBodySize),
          Effect.provideService(CurrentRequestId, requestId),
          Effect.annotateLogs({ request_id: requestId })
        )
      })
  ),
  { global: true }
)
