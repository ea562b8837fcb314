import { Predicate, Schema } from "effect"

/** The database cannot be used; `message` is one line for the operator that says why and what to do. */
export class DatabaseNotStarted extends Schema.TaggedError<DatabaseNotStarted>()("DatabaseNotStarted", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** What a line to the operator says of a cause: the first line of its message, or its code (of a refused connection). */
export const reasonOf = (cause: unknown): string => {
  if (!Predicate.isError(cause))
    return Predicate.hasProperty(cause, "code") ? String(cause.code) : JSON.stringify(cause)
  if (cause.message !== "") return cause.message.split("\n")[0]!
  return Predicate.hasProperty(cause, "code") ? String(cause.code) : cause.name
}
