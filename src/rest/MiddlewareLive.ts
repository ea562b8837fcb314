import { Effect, Layer } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Authentication, Caller } from "../accounts/Authentication.ts"
import { asApiError } from "../operations/Failures.ts"
import { withIdempotencyKey } from "../operations/Idempotency.ts"
import { withRequestRules } from "../operations/RequestRules.ts"
import { responseFields } from "../operations/ResponseFields.ts"
import { withErrorResponse } from "./ErrorResponse.ts"
import { Authorization, ErrorEnvelope, RequestRules } from "./Middleware.ts"
import { withPayloadError } from "./PayloadError.ts"

const ErrorEnvelopeLive = Layer.succeed(ErrorEnvelope, (httpEffect, { endpoint }) =>
  withErrorResponse(withPayloadError(endpoint, httpEffect))
)

/** Finds the caller, and lets the response tell them about their rate limits, whatever it is. */
const AuthorizationLive = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const authentication = yield* Authentication
    const services = yield* Effect.context<Exclude<Effect.Services<typeof responseFields>, Caller>>()
    return {
      bearer: (httpEffect, { credential }) =>
        Effect.flatMap(asApiError(authentication.authenticate(credential)), (caller) =>
          Effect.andThen(
            HttpEffect.appendPreResponseHandler((_, response) =>
              responseFields.pipe(
                Effect.map((fields) => HttpServerResponse.setHeaders(response, fields)),
                Effect.provideService(Caller, caller),
                Effect.provide(services)
              )
            ),
            Effect.provideService(httpEffect, Caller, caller)
          )
        )
    }
  })
)

const RequestRulesLive = Layer.succeed(RequestRules, (httpEffect) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    withRequestRules(
      request,
      withIdempotencyKey("rest", "Idempotency-Key", request.headers["idempotency-key"], httpEffect)
    )
  )
)

/** The contract's middleware at work. */
export const MiddlewareLive = Layer.mergeAll(ErrorEnvelopeLive, AuthorizationLive, RequestRulesLive)
