import { Effect, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { type HttpApiEndpoint, HttpApiError } from "effect/http-api"
import { ApiError } from "../operations/ApiError.ts"
import { decodeRequest } from "../operations/DecodeRequest.ts"
import { validationError } from "../operations/Failures.ts"

const notJson = new ApiError({ code: "invalid_json", message: "The body is not JSON. Send a JSON object." })

/** What is wrong with a body that did not fit `endpoint`: it is decoded once more, now for all its problems. */
const explain = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top, first: Schema.SchemaError) {
  const request = yield* HttpServerRequest.HttpServerRequest
  // The text is kept with the request; it is not read from the network twice.
  const text = yield* Effect.orDie(request.text)
  const json = yield* Effect.try({ try: (): unknown => JSON.parse(text), catch: () => notJson })
  const schema: Schema.Top = Schema.Union([...endpoint.payload.values()].flatMap(({ schemas }) => schemas))
  const all = yield* Effect.flip(decodeRequest(schema as Schema.Codec<unknown, unknown>, json)).pipe(
    Effect.orElseSucceed(() => first)
  )
  return yield* validationError(all)
})

/** Says of a body that does not fit what is wrong with it; other failures pass. */
export const withPayloadError = <A, E, R>(endpoint: HttpApiEndpoint.Top, effect: Effect.Effect<A, E, R>) =>
  Effect.catch(
    effect,
    (error): Effect.Effect<A, E | ApiError, HttpServerRequest.HttpServerRequest> =>
      HttpApiError.HttpApiSchemaError.is(error) && error.kind === "Payload"
        ? explain(endpoint, error.cause)
        : Effect.fail(error)
  )
