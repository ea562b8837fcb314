import { Effect } from "effect"
import { Caller } from "../accounts/Authentication.ts"
import type { IndexRequest } from "../domain/Collection.ts"
import { indexMicro } from "../domain/Tariff.ts"
import { Indexing } from "../knowledge/Indexing.ts"
import * as Metered from "./Metered.ts"

/** Puts documents into a collection, all of them or none. */
export const index = Metered.paid({
  operation: "index",
  scope: "manage",
  plan: Effect.fnUntraced(function* ({ collection, documents, model }: IndexRequest) {
    const { organizationId } = yield* Caller
    const indexing = yield* Indexing
    const priceMicro = indexMicro(documents.length)
    return {
      boundMicro: priceMicro,
      run: Effect.map(indexing.index(organizationId, { collection, documents, model }), ({ chunksCreated }) => ({
        value: {
          collection,
          documents_indexed: documents.length,
          chunks_created: chunksCreated,
          document_ids: documents.map(({ id }) => id)
        },
        usedMicro: priceMicro
      }))
    }
  })
})
