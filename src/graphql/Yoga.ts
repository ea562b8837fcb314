import { createYoga, type GraphQLParams, type Plugin } from "graphql-yoga"
import type { GraphQlContext } from "./Bridge.ts"
import { useErrorContract } from "./Errors.ts"
import { useInputErrors } from "./InputErrors.ts"
import { documentCaches, useLimits } from "./Limits.ts"
import { schema } from "./Schema.ts"

/** What the route hands to Yoga beside the request. */
export interface YogaInput extends GraphQlContext {
  readonly body: GraphQLParams
}

/** Takes the body as the route has read it. */
const useReadBody = (): Plugin<object, YogaInput> => ({
  onRequestParse({ serverContext, setRequestParser }) {
    setRequestParser(() => serverContext.body)
  }
})

/** Parses, checks and executes documents, and writes answers as GraphQL over HTTP wants them. */
export const yoga = createYoga<YogaInput>({
  schema,
  plugins: [useReadBody(), ...useLimits(), useInputErrors(), useErrorContract()],
  parserAndValidationCache: documentCaches(),
  // Masking is `useErrorContract`'s, which knows the error contract; the log gets what it masks.
  maskedErrors: false,
  logging: false,
  batching: false,
  multipart: false,
  cors: false,
  graphiql: false,
  landingPage: false,
  maxRequestBodySize: false
})
