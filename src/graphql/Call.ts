import { Effect, type Schema } from "effect"
import { ApiError } from "../operations/ApiError.ts"
import { decodeRequest } from "../operations/DecodeRequest.ts"
import { validationError } from "../operations/Failures.ts"
import { withIdempotencyKey } from "../operations/Idempotency.ts"
import { pathFromWire, type Shape, shapeOf, toWire } from "./Shape.ts"

const inGraphQlNames = (shape: Shape) => (error: ApiError) =>
  error.details === undefined
    ? error
    : new ApiError({
        code: error.code,
        message: error.message,
        details: error.details.map(({ message, path }) => ({ path: pathFromWire(shape, path), message })),
        ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds })
      })

/**
 * Calls an operation with GraphQL arguments. They are decoded by the schema by which REST decodes its body, so bounds
 * and messages are the same; the places named in an error are in GraphQL's names.
 */
export const call = <Input, Output, R>(
  operation: (input: Input) => Effect.Effect<Output, ApiError, R>,
  schema: Schema.Codec<Input, unknown>,
  args: unknown
): Effect.Effect<Output, ApiError, R> => {
  const shape = shapeOf(schema)
  return decodeRequest(schema, toWire(shape, args)).pipe(
    Effect.mapError(validationError),
    Effect.flatMap(operation),
    Effect.mapError(inGraphQlNames(shape))
  )
}

/** Calls a paid operation, once if the client sent a key. */
export const callPaid = <Input, Output, R>(
  operation: (input: Input) => Effect.Effect<Output, ApiError, R>,
  schema: Schema.Codec<Input, unknown>,
  args: { readonly input?: unknown; readonly idempotencyKey?: string | null | undefined }
): Effect.Effect<Output, ApiError, R> =>
  withIdempotencyKey("graphql", "idempotencyKey", args.idempotencyKey, call(operation, schema, args.input))
