import { STATUS_CODES } from "node:http"
import { Cause, Effect, Option, Predicate } from "effect"
import { HttpServerError, HttpServerRequest, HttpServerResponse, ProblemDetails } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { ApiError } from "../operations/ApiError.ts"
import { asApiError, validationError } from "../operations/Failures.ts"
import { CurrentRequestId } from "../operations/RequestId.ts"
import { allowedMethods } from "./Routes.ts"

const headersOf = (error: ApiError, request: HttpServerRequest.HttpServerRequest): Record<string, string> => ({
  ...error.headers,
  ...(error.code === "method_not_allowed" ? { allow: allowedMethods(request.url).join(", ") } : {})
})

const wantsProblem = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.headers["accept"]?.includes(ProblemDetails.contentType) === true

/** The error envelope as a response; clients that ask for RFC 9457 get its members beside ours. */
const toResponse = Effect.fnUntraced(function* (error: ApiError) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const body = error.toBody(yield* CurrentRequestId)
  const headers = headersOf(error, request)
  const { status } = error
  const envelope = { success: false, error: body }
  if (!wantsProblem(request)) return HttpServerResponse.jsonUnsafe(envelope, { status, headers })
  const problem = { type: ProblemDetails.blankType, title: STATUS_CODES[status], status, detail: body.message }
  return HttpServerResponse.jsonUnsafe(
    { ...problem, ...envelope },
    { status, headers, contentType: ProblemDetails.contentType }
  )
})

const routingError = (request: HttpServerRequest.HttpServerRequest): ApiError =>
  allowedMethods(request.url).length > 0
    ? new ApiError({ code: "method_not_allowed", message: `This address does not answer ${request.method}.` })
    : new ApiError({ code: "not_found", message: "There is nothing at this address." })

const serverError = ({ reason }: HttpServerError.HttpServerError): Option.Option<ApiError> => {
  if (reason._tag === "RouteNotFound") return Option.some(routingError(reason.request))
  if (reason._tag !== "RequestParseError") return Option.none()
  return Option.some(
    reason.reason === "BodyTooLarge"
      ? new ApiError({ code: "payload_too_large", message: "The body is too large." })
      : new ApiError({ code: "invalid_json", message: "The body could not be read." })
  )
}

/** What `effect/http` and `effect/http-api` fail with, typed or as a defect, when the request is at fault. */
const requestError = (error: unknown): Option.Option<ApiError> => {
  if (HttpServerError.isHttpServerError(error)) return serverError(error)
  if (HttpApiError.HttpApiSchemaError.is(error)) {
    const isOurs = error.kind === "Body" || error.kind === "ResponseHeaders"
    return isOurs ? Option.none() : Option.some(validationError(error.cause))
  }
  return Predicate.isTagged(error, "ApiError") ? Option.some(error as ApiError) : Option.none()
}

const toApiError = <E>(cause: Cause.Cause<E>) => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
  const error = Cause.squash(cause)
  return Option.match(requestError(error), { onNone: () => asApiError(Effect.die(error)), onSome: Effect.fail })
}

/** Answers every failure, expected or not, with the error envelope. Interruption passes through. */
export const withErrorResponse = <E, R>(
  effect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | HttpServerRequest.HttpServerRequest> =>
  effect.pipe(Effect.catchCause(toApiError), Effect.catch(toResponse))
