import { Predicate, Schema } from "effect"

/** How deep a JSON value of a caller may nest; what is deeper could exhaust the stack of whoever reads it later. */
const MAX_DEPTH = 32

/** Walks level by level, without recursion, so that any input is safe. */
const isShallow = (value: unknown): boolean => {
  let level: Array<unknown> = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false
    level = level.flatMap((item) => (Predicate.isObjectOrArray(item) ? Object.values(item) : []))
  }
  return true
}

/** A JSON object without a fixed shape. */
export const JsonObject = Schema.Record(Schema.String, Schema.Unknown).check(
  Schema.makeFilter<{ readonly [key: string]: unknown }>(isShallow, {
    expected: `an object nested at most ${MAX_DEPTH} levels deep`
  })
)
export type JsonObject = typeof JsonObject.Type
