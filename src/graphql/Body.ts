import { Effect, Predicate } from "effect"
import type { HttpServerError, HttpServerRequest } from "effect/http"
import type { GraphQLParams } from "graphql-yoga"
import { ApiError } from "../operations/ApiError.ts"

const notJson = (message: string) => new ApiError({ code: "invalid_json", message })

const parseJson = (text: string, message: string): Effect.Effect<unknown, ApiError> =>
  Effect.try({ try: () => JSON.parse(text), catch: () => notJson(message) })

const unreadable = ({ reason }: HttpServerError.HttpServerError): ApiError =>
  reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
    ? new ApiError({ code: "payload_too_large", message: "The body is too large." })
    : notJson("The body could not be read.")

const readPost = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const text = yield* Effect.mapError(request.text, unreadable)
  const body = yield* parseJson(text, "The body is not JSON. Send a JSON object.")
  if (Predicate.isObject(body)) return body as GraphQLParams
  return yield* new ApiError({
    code: "validation_failed",
    message: "The body is no JSON object. Send `{query, variables, operationName}`; batches are not served."
  })
})

const readGet = Effect.fnUntraced(function* ({ url }: HttpServerRequest.HttpServerRequest) {
  const parameters = new URL(url, "http://localhost").searchParams
  const params: Record<string, unknown> = {}
  for (const name of ["query", "operationName"]) params[name] = parameters.get(name) ?? undefined
  for (const name of ["variables", "extensions"]) {
    const text = parameters.get(name)
    if (text !== null) params[name] = yield* parseJson(text, `The parameter ${name} is not JSON.`)
  }
  return params as GraphQLParams
})

/**
 * Reads what to execute. The body is read by `effect/http`, which bounds its size. Whether `query` and the rest are of
 * the right type is left to Yoga.
 */
export const readParams = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<GraphQLParams, ApiError> =>
  request.method === "GET" ? readGet(request) : readPost(request)
