import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { VectorStore } from "../VectorStore.ts"
import { makeSqlSearch } from "./SqlSearch.ts"
import { makeSqlWriter } from "./SqlWriter.ts"

/** `VectorStore` over Postgres with pgvector. */
export const makeSql: Effect.Effect<VectorStore["Service"], never, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return { ...makeSqlWriter(sql), search: makeSqlSearch(sql) }
})
