import { Duration, Effect, Layer } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Authentication, Caller } from "../accounts/Authentication.ts"
import { Credits } from "../accounts/Credits.ts"
import { ApiError } from "../operations/ApiError.ts"
import { Deadline, MAX_DEADLINE_SECONDS } from "../operations/Deadline.ts"
import { asApiError } from "../operations/Failures.ts"
import { rateLimitFields } from "../operations/RateLimitFields.ts"
import { withErrorResponse } from "./ErrorResponse.ts"
import { Authorization, ErrorEnvelope, RequestRules } from "./Middleware.ts"

const ErrorEnvelopeLive = Layer.succeed(ErrorEnvelope, withErrorResponse)

/** Finds the caller, and lets the response tell them about their rate limits, whatever it is. */
const AuthorizationLive = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const authentication = yield* Authentication
    const credits = yield* Credits
    return {
      bearer: (httpEffect, { credential }) =>
        Effect.flatMap(asApiError(authentication.authenticate(credential)), (caller) =>
          Effect.andThen(
            HttpEffect.appendPreResponseHandler((_, response) =>
              rateLimitFields.pipe(
                Effect.map((fields) => HttpServerResponse.setHeaders(response, fields)),
                Effect.provideService(Caller, caller),
                Effect.provideService(Credits, credits)
              )
            ),
            Effect.provideService(httpEffect, Caller, caller)
          )
        )
    }
  })
)

const JSON_MEDIA_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i

const checkMediaType = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void, ApiError> => {
  const contentType = request.headers["content-type"]
  if (request.method !== "POST" || contentType === undefined || JSON_MEDIA_TYPE.test(contentType)) return Effect.void
  return new ApiError({ code: "unsupported_media_type", message: "Send the body as `Content-Type: application/json`." })
}

const parseDeadline = (value: string): Effect.Effect<Duration.Duration, ApiError> => {
  const seconds = /^\d{1,4}(?:\.\d{1,3})?$/.test(value) ? Number(value) : 0
  if (seconds > 0 && seconds <= MAX_DEADLINE_SECONDS) return Effect.succeed(Duration.seconds(seconds))
  const message = `Expected seconds, more than 0 and at most ${MAX_DEADLINE_SECONDS}`
  return new ApiError({
    code: "validation_failed",
    message: "The request does not fit the schema.",
    details: [{ path: "Request-Timeout", message }]
  })
}

const RequestRulesLive = Layer.succeed(RequestRules, (httpEffect) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const timeout = request.headers["request-timeout"]
    const bounded =
      timeout === undefined
        ? httpEffect
        : Effect.flatMap(parseDeadline(timeout), (deadline) => Effect.provideService(httpEffect, Deadline, deadline))
    return Effect.andThen(checkMediaType(request), bounded)
  })
)

/** The contract's middleware at work. */
export const MiddlewareLive = Layer.mergeAll(ErrorEnvelopeLive, AuthorizationLive, RequestRulesLive)
