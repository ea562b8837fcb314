import { Schema } from "effect"

/** The database cannot be reached or gave up; nothing was written, and a later try may succeed. */
export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>()("StoreUnavailable", {
  cause: Schema.Defect()
}) {}
