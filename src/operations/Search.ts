import { Effect } from "effect"
import { Caller } from "../accounts/Authentication.ts"
import type { SearchRequest } from "../domain/Collection.ts"
import { SEARCH_MICRO } from "../domain/Tariff.ts"
import { Retrieval } from "../knowledge/Retrieval.ts"
import * as Metered from "./Metered.ts"

const DEFAULT_TOP_K = 5

/** Finds the documents of a collection that match a query best. */
export const search = Metered.paid({
  operation: "search",
  scope: "invoke",
  plan: Effect.fnUntraced(function* ({ collection, min_score, query, top_k }: SearchRequest) {
    const { organizationId } = yield* Caller
    const retrieval = yield* Retrieval
    return {
      boundMicro: SEARCH_MICRO,
      run: Effect.map(
        retrieval.search(organizationId, { collection, query, topK: top_k ?? DEFAULT_TOP_K, minScore: min_score ?? 0 }),
        (results) => ({ value: { results }, usedMicro: SEARCH_MICRO })
      )
    }
  })
})
