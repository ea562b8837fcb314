import { Context, type Effect } from "effect"
import type { SearchResult } from "../domain/Collection.ts"
import type { OrganizationId } from "../domain/Ids.ts"
import type { ProviderError } from "../providers/ProviderError.ts"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"
import type { CollectionNotFound } from "../store/VectorStore.ts"

/** Finds what a collection says about a query: hybrid search, dense and BM25. */
export class Retrieval extends Context.Service<
  Retrieval,
  {
    /** At most `topK` documents, the best chunk of each, ordered by score, none below `minScore` (0..1). */
    search(
      organization: OrganizationId,
      request: {
        readonly collection: string
        readonly query: string
        readonly topK: number
        readonly minScore: number
      }
    ): Effect.Effect<ReadonlyArray<SearchResult>, CollectionNotFound | ProviderError | StoreUnavailable>
  }
>()("sluice/knowledge/Retrieval") {}
