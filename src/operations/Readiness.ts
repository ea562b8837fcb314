import { Effect } from "effect"
import { Database } from "../store/Database.ts"
import { asApiError } from "./Failures.ts"

/** Succeeds when calls can be served, which takes the database. */
export const ready = Effect.flatMap(Database, ({ check }) => check).pipe(asApiError)
