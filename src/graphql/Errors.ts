import { Effect } from "effect"
import { GraphQLError, Kind } from "graphql"
import { isAsyncIterable, type Plugin } from "graphql-yoga"
import { ApiError, type ErrorDetail } from "../operations/ApiError.ts"
import type { GraphQlContext } from "./Bridge.ts"

/** The GraphQL library quotes the value that it refuses; nobody wants a prompt of a megabyte back. */
const MAX_MESSAGE_LENGTH = 300

export const truncate = (text: string): string =>
  text.length <= MAX_MESSAGE_LENGTH ? text : `${text.slice(0, MAX_MESSAGE_LENGTH)}...`

/** Input that does not fit the schema, with the same message and code that REST has for it. */
export const invalidInput = (details: ReadonlyArray<ErrorDetail>): GraphQLError => {
  const error = new ApiError({ code: "validation_failed", message: "The request does not fit the schema.", details })
  return new GraphQLError(error.message, { originalError: error })
}

/** The error contract as GraphQL carries it: the message in its place, the rest of the body in `extensions`. */
export const errorBody = (error: ApiError, requestId: string) => {
  const { message, ...extensions } = error.toBody(requestId)
  return { message, extensions }
}

/** What the library itself says about a request, other than that a resolver answered what its type does not allow. */
const isAboutRequest = ({ nodes, originalError, path }: GraphQLError): boolean =>
  (originalError === undefined || originalError instanceof GraphQLError) &&
  (path === undefined || nodes?.[0]?.kind !== Kind.FIELD)

const toApiError = async (error: unknown, { run }: GraphQlContext): Promise<ApiError> => {
  const original = error instanceof GraphQLError ? (error.originalError ?? error) : error
  if (original instanceof ApiError) return original
  if (error instanceof GraphQLError && isAboutRequest(error)) {
    const code = error.extensions.http?.status === 405 ? "method_not_allowed" : "validation_failed"
    return new ApiError({ code, message: truncate(error.message) })
  }
  // Logs it and rejects with the error that callers may see.
  return run(Effect.die(original)).catch((masked) => masked)
}

/**
 * Yoga reads status and headers from `extensions.http` and does not show it. A field's failure has no status: GraphQL
 * over HTTP answers 200 then. With `spec`, clients that accept `application/json` only get 200 too, as that protocol
 * wants it for documents and variables that do not fit; what is no GraphQL request at all is refused to everyone.
 */
const httpExtension = (error: ApiError, located: GraphQLError | undefined) => {
  const headers = { ...located?.extensions.http?.headers, ...error.headers }
  if (located?.path !== undefined) return { headers }
  const isAboutDocument = located?.source !== undefined || located?.originalError instanceof ApiError
  return { headers, status: error.status, spec: isAboutDocument }
}

const toContract = async (error: unknown, context: GraphQlContext): Promise<GraphQLError> => {
  const located = error instanceof GraphQLError ? error : undefined
  const apiError = await toApiError(error, context)
  const { extensions, message } = errorBody(apiError, context.requestId)
  return new GraphQLError(message, {
    nodes: located?.nodes,
    positions: located?.positions,
    source: located?.source,
    path: located?.path,
    extensions: { ...extensions, http: httpExtension(apiError, located) }
  })
}

/** Turns every error of an answer, wherever it comes from, into the error contract; what is no known error is masked. */
export const useErrorContract = (): Plugin<GraphQlContext, GraphQlContext> => ({
  async onResultProcess({ result, serverContext, setResult }) {
    if (isAsyncIterable(result) || Array.isArray(result) || result.errors === undefined) return
    const errors = await Promise.all(result.errors.map((error) => toContract(error, serverContext)))
    setResult({ ...result, errors })
  }
})
