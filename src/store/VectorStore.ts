import { Context, type Effect, Layer, type Option } from "effect"
import type { OrganizationId } from "../domain/Ids.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { StoreUnavailable } from "./StoreUnavailable.ts"
import type { CollectionNotFound, EmbeddingMismatch, EmbeddingSpace } from "./vector/EmbeddingSpace.ts"
import { makeMemory } from "./vector/MemoryVectors.ts"
import type { Fusion } from "./vector/Ranking.ts"
import { makeSql } from "./vector/SqlVectors.ts"
import type { TermVector } from "./vector/Terms.ts"

export { CollectionNotFound, EmbeddingMismatch, EmbeddingSpace, isSameSpace } from "./vector/EmbeddingSpace.ts"
export type { Fusion } from "./vector/Ranking.ts"
export { termVector } from "./vector/Terms.ts"

/** A document ready to be stored. Its texts hold neither NUL nor lone surrogates. */
export interface IndexedDocument {
  readonly id: string
  readonly title: string
  readonly metadata: JsonObject
  /** Tells versions of the document apart. */
  readonly contentHash: string
  readonly chunks: ReadonlyArray<IndexedChunk>
}

export interface IndexedChunk {
  /** Raw text, as search returns it. */
  readonly content: string
  readonly terms: TermVector
  readonly embedding: ArrayLike<number>
}

/** What a collection has of the documents that were asked for. */
export interface Inspection {
  readonly space: EmbeddingSpace
  /** By document id. */
  readonly contentHashes: ReadonlyMap<string, string>
}

export interface VectorQuery<E, R> {
  readonly collection: string
  readonly terms: TermVector
  /**
   * Embeds the query, once the collection's space is known, and says how to weigh the vector. Not called when the
   * collection is empty.
   */
  readonly embed: (
    space: EmbeddingSpace
  ) => Effect.Effect<{ readonly embedding: ArrayLike<number>; readonly fusion: Fusion }, E, R>
  /** Whether a document appears once, with its best chunk, or with each chunk that matches. */
  readonly unit: "document" | "chunk"
  readonly topK: number
  /** 0..1 */
  readonly minScore: number
}

/** A chunk that matches a query. */
export interface VectorHit {
  readonly documentId: string
  /** The chunk's number in its collection. */
  readonly chunk: number
  readonly title: string
  readonly metadata: JsonObject
  readonly content: string
  /** 0..1 */
  readonly score: number
}

/** Documents of collections with their chunks, vectors and terms; every call is bound to one organization. */
export class VectorStore extends Context.Service<
  VectorStore,
  {
    /** What a collection has of documents, so that unchanged ones need not be embedded. `None`: no such collection. */
    inspect(
      organization: OrganizationId,
      collection: string,
      documentIds: ReadonlyArray<string>
    ): Effect.Effect<Option.Option<Inspection>, StoreUnavailable>
    /**
     * Puts documents into a collection, each in the place of the one with its id; all or nothing. The first documents
     * create the collection and bind it to their space.
     */
    replace(
      organization: OrganizationId,
      request: {
        readonly collection: string
        readonly space: EmbeddingSpace
        readonly documents: ReadonlyArray<IndexedDocument>
      }
    ): Effect.Effect<void, EmbeddingMismatch | StoreUnavailable>
    /** Finds the best matches by BM25 and cosine together; best first, ties by document id. */
    search<E, R>(
      organization: OrganizationId,
      query: VectorQuery<E, R>
    ): Effect.Effect<ReadonlyArray<VectorHit>, CollectionNotFound | StoreUnavailable | E, R>
  }
>()("sluice/store/VectorStore") {
  static readonly layer = Layer.effect(VectorStore, makeSql)
  /** Exact, in memory, for unit tests. */
  static readonly layerMemory = Layer.sync(VectorStore, makeMemory)
}
