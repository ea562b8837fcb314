import { Context, Effect, Layer } from "effect"
import { analyze } from "../domain/Analyzer.ts"
import type { SearchResult } from "../domain/Collection.ts"
import type { OrganizationId } from "../domain/Ids.ts"
import { Embeddings } from "../providers/Embeddings.ts"
import type { ProviderError } from "../providers/ProviderError.ts"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"
import { type CollectionNotFound, type EmbeddingSpace, termVector, VectorStore } from "../store/VectorStore.ts"
import { fusionOf, selectorOf } from "./Spaces.ts"

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
>()("sluice/knowledge/Retrieval") {
  static readonly layer = Layer.effect(
    Retrieval,
    Effect.gen(function* () {
      const embeddings = yield* Embeddings
      const store = yield* VectorStore

      /** Embeds a text as the collection's documents were embedded. */
      const embedIn = Effect.fnUntraced(function* (space: EmbeddingSpace, text: string) {
        const model = yield* embeddings.resolve(selectorOf(space))
        const [embedding] = yield* model.embed([text])
        return { embedding: embedding!, fusion: fusionOf(space) }
      })

      /** The best chunks, or the best documents by their best chunk. */
      const retrieve = Effect.fnUntraced(function* (
        organization: OrganizationId,
        unit: "document" | "chunk",
        { collection, query, topK, minScore }: Parameters<Retrieval["Service"]["search"]>[1]
      ) {
        const terms = termVector(analyze(query))
        const embed = (space: EmbeddingSpace) => embedIn(space, query)
        return yield* store.search(organization, { collection, terms, embed, unit, topK, minScore })
      })

      const search = Effect.fn("Retrieval.search")(function* (
        organization: OrganizationId,
        request: Parameters<Retrieval["Service"]["search"]>[1]
      ) {
        const hits = yield* retrieve(organization, "document", request)
        return hits.map(({ documentId, content, score, metadata, title }) => ({
          id: documentId,
          content,
          score,
          metadata: { ...metadata, title }
        }))
      })

      return Retrieval.of({ search })
    })
  )
}
