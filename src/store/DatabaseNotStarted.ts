import { Schema } from "effect"

/** The database cannot be used; `message` is one line for the operator that says why and what to do. */
export class DatabaseNotStarted extends Schema.TaggedError<DatabaseNotStarted>()("DatabaseNotStarted", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}
