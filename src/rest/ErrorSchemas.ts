import { Schema, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { ApiError, type ErrorCode, errorCodes } from "../operations/ApiError.ts"

/**
 * The error contract of REST: one schema per HTTP status, each with the codes that go with it. On the wire it is the
 * error envelope, in TypeScript an `ApiError`.
 */

const ErrorDetail = Schema.Struct({
  path: Schema.String.annotate({ description: "Where in the request, in dots." }),
  message: Schema.String.annotate({ description: "What is wrong there." })
}).annotate({ identifier: "ErrorDetail" })

const codesOf = (status: number): ReadonlyArray<ErrorCode> =>
  (Object.keys(errorCodes) as Array<ErrorCode>).filter((code) => errorCodes[code].status === status)

const envelopeOf = (status: number) =>
  Schema.Struct({
    success: Schema.Literal(false),
    error: Schema.Struct({
      code: Schema.Literals(codesOf(status)),
      message: Schema.String.annotate({ description: "What went wrong, for a person." }),
      status: Schema.Literal(status),
      retryable: Schema.Boolean.annotate({ description: "Whether the same call may succeed later." }),
      request_id: Schema.String.annotate({ description: "The exchange's `x-request-id`." }),
      details: Schema.optionalKey(Schema.Array(ErrorDetail))
    })
  }).annotate({ identifier: `Error${status}`, description: codesOf(status).join(", ") })

const errorOf = (status: number) =>
  envelopeOf(status).pipe(
    Schema.decodeTo(
      Schema.declare((u): u is ApiError => u instanceof ApiError && u.status === status),
      SchemaTransformation.transform({
        decode: ({ error: { code, details, message, request_id } }) =>
          new ApiError({ code, message, requestId: request_id, ...(details === undefined ? {} : { details }) }),
        encode: (error) => ({ success: false as const, error: { ...error.toBody(error.requestId ?? ""), status } })
      })
    ),
    HttpApiSchema.status(status)
  )

const statuses = [...new Set(Object.values(errorCodes).map(({ status }) => status))].sort((a, b) => a - b)

/** One schema for each HTTP status of the error contract. */
export const errorSchemas = statuses.map(errorOf)
