import { type Effect, Predicate, Schema } from "effect"

/**
 * Values in a request up to which all that is wrong with it is looked for; beyond, the first thing only. Ten megabytes
 * hold three million empty strings, and to note each as an error takes ten seconds and two gigabytes.
 */
const MAX_EXAMINED = 10_000

/** Walks without recursion and stops when it knows. */
const isSmall = (request: unknown): boolean => {
  const found: Array<unknown> = [request]
  for (let next = 0; next < found.length; next++) {
    const value = found[next]
    if (!Predicate.isObjectOrArray(value)) continue
    const inner: ReadonlyArray<unknown> = Array.isArray(value) ? value : Object.values(value)
    if (found.length + inner.length > MAX_EXAMINED) return false
    found.push(...inner)
  }
  return true
}

/** Decodes what a caller sent, and reports all its problems while that is cheap. */
export const decodeRequest = <Request>(
  schema: Schema.Codec<Request, unknown>,
  request: unknown
): Effect.Effect<Request, Schema.SchemaError> =>
  Schema.decodeUnknownEffect(schema, { errors: isSmall(request) ? "all" : "first" })(request)
