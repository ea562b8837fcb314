import { Effect, Redacted } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Authentication, Caller } from "../accounts/Authentication.ts"
import type { ApiError } from "../operations/ApiError.ts"
import { asApiError } from "../operations/Failures.ts"
import { CurrentRequestId } from "../operations/RequestId.ts"
import { withRequestRules } from "../operations/RequestRules.ts"
import { responseFields } from "../operations/ResponseFields.ts"
import { readParams } from "./Body.ts"
import { makeContext } from "./Bridge.ts"
import { errorBody } from "./Errors.ts"
import { ideResponse } from "./Ide.ts"
import { yoga } from "./Yoga.ts"

type Request = HttpServerRequest.HttpServerRequest

const GRAPHQL_JSON = "application/graphql-response+json"

/** Clients that name `application/json` only are from before GraphQL had a media type of its own. */
const mediaType = ({ headers }: Request): string => {
  const accept = headers["accept"] ?? ""
  return accept.includes("application/json") && !accept.includes(GRAPHQL_JSON) ? "application/json" : GRAPHQL_JSON
}

const bearerKey = ({ headers }: Request): Redacted.Redacted<string> =>
  Redacted.make(/^Bearer +(\S+) *$/i.exec(headers["authorization"] ?? "")?.[1] ?? "")

/** A request that does not get as far as being executed. */
const refusal = Effect.fnUntraced(function* (request: Request, error: ApiError) {
  return HttpServerResponse.jsonUnsafe(
    { errors: [errorBody(error, yield* CurrentRequestId)] },
    { status: error.status, headers: error.headers, contentType: mediaType(request) }
  )
})

const execute = Effect.fnUntraced(function* (request: Request) {
  const body = yield* readParams(request)
  const context = yield* makeContext
  const init = { method: request.method, headers: { accept: mediaType(request) } }
  return yield* Effect.promise(async (signal) => {
    const response = await yoga.fetch("http://localhost/graphql", { ...init, signal }, { ...context, body })
    const { status } = response
    return HttpServerResponse.text(await response.text(), { status, headers: Object.fromEntries(response.headers) })
  })
})

const answer = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const refuse = (error: ApiError) => refusal(request, error)
  const exchange = Effect.gen(function* () {
    const caller = yield* (yield* Authentication).authenticate(bearerKey(request))
    return yield* withRequestRules(request, execute(request)).pipe(
      asApiError,
      Effect.catch(refuse),
      Effect.flatMap((response) =>
        Effect.map(responseFields, (fields) => HttpServerResponse.setHeaders(response, fields))
      ),
      Effect.provideService(Caller, caller)
    )
  })
  return yield* Effect.catch(asApiError(exchange), refuse)
})

const wantsIde = ({ headers, url }: Request): boolean =>
  headers["accept"]?.includes("text/html") === true && !/[?&]query=/.test(url)

/** `/graphql`: the operations over GraphQL and, for a browser that opens the address, the IDE. */
export const GraphQl = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const ide = yield* ideResponse
    yield* router.add("POST", "/graphql", answer)
    yield* router.add("GET", "/graphql", (request) => (wantsIde(request) ? ide : answer))
  })
)
