import { randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { CurrentRequestId } from "../operations/RequestId.ts"
import { withErrorResponse } from "./ErrorResponse.ts"

/**
 * What holds for every HTTP exchange of the server, whichever surface answers it: a request id, one log line, the error
 * envelope for what no route answers, and headers that keep browsers strict.
 */

const WELL_FORMED_ID = /^[\w.:/+=-]{1,128}$/

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

export const Exchange = HttpRouter.middleware(
  (httpEffect) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const requestId = requestIdOf(request)
      const startedAt = yield* Clock.currentTimeMillis
      return yield* withErrorResponse(httpEffect).pipe(
        Effect.map(HttpServerResponse.setHeaders({ "x-request-id": requestId, "x-content-type-options": "nosniff" })),
        Effect.tap((response) => logExchange(request, response.status, startedAt)),
        Effect.onInterrupt(() => logExchange(request, 499, startedAt)),
        Effect.provideService(CurrentRequestId, requestId),
        Effect.annotateLogs({ request_id: requestId })
      )
    }),
  { global: true }
)
