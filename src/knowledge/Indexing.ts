import { createHash } from "node:crypto"
import { Context, Effect, Layer, Option, Stream } from "effect"
import { analyze } from "../domain/Analyzer.ts"
import type { Document } from "../domain/Collection.ts"
import type { OrganizationId } from "../domain/Ids.ts"
import type { EmbeddingModelSelector } from "../domain/Model.ts"
import { type EmbeddingModel, Embeddings } from "../providers/Embeddings.ts"
import type { ProviderError } from "../providers/ProviderError.ts"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"
import {
  EmbeddingMismatch,
  type IndexedChunk,
  type IndexedDocument,
  isSameSpace,
  termVector,
  VectorStore
} from "../store/VectorStore.ts"
import { type Chunk, chunk } from "./Chunker.ts"
import { selectorOf, spaceOf } from "./Spaces.ts"

/** Part of each content hash: raised when chunks or terms are made differently, it makes old documents count as changed. */
const INDEX_VERSION = 1

/** Texts per embedding call, and calls under way at once for one request: enough to hide latency, few enough to be served. */
const TEXTS_PER_CALL = 96
const PARALLEL_CALLS = 4

/** A chunk and the place of its document in the request. */
interface PlacedChunk extends Chunk {
  readonly place: number
}

const contentHash = ({ content, title, metadata }: Document): string =>
  createHash("sha256")
    .update(JSON.stringify([INDEX_VERSION, content, title ?? null, metadata ?? null]))
    .digest("hex")

/** The title that search shows: the document's own, else one that the metadata has. */
const titleOf = ({ title, metadata }: Document): string => {
  const fromMetadata = metadata?.["title"]
  const shown = title ?? (typeof fromMetadata === "string" ? fromMetadata : "")
  return shown.toWellFormed().replaceAll("\0", "\u{FFFD}")
}

function* chunkAll(documents: ReadonlyArray<Document>): Generator<PlacedChunk> {
  for (const [place, { content, title }] of documents.entries()) {
    for (const each of chunk({ content, title })) yield { ...each, place }
  }
}

/** Embeds the chunks of one call. Vectors are kept as 32-bit numbers: a request can have tens of thousands. */
const embedBatch = Effect.fnUntraced(function* (model: EmbeddingModel, batch: ReadonlyArray<PlacedChunk>) {
  const embeddings = yield* model.embed(batch.map(({ searchable }) => searchable))
  return batch.map(({ content, searchable, place }, index) => {
    const embedding = Float32Array.from(embeddings[index]!)
    return { place, content, terms: termVector(analyze(searchable)), embedding }
  })
})

/** Puts documents into a collection: chunks, embeds and stores them, all or nothing. */
export class Indexing extends Context.Service<
  Indexing,
  {
    /**
     * A document replaces the one with its id; an unchanged one is left as it is and creates no chunks. Without a model
     * the collection's own is used, or the configured default for a new collection.
     */
    index(
      organization: OrganizationId,
      request: {
        readonly collection: string
        readonly documents: ReadonlyArray<Document>
        readonly model: EmbeddingModelSelector | undefined
      }
    ): Effect.Effect<{ readonly chunksCreated: number }, EmbeddingMismatch | ProviderError | StoreUnavailable>
  }
>()("sluice/knowledge/Indexing") {
  static readonly layer = Layer.effect(
    Indexing,
    Effect.gen(function* () {
      const embeddings = yield* Embeddings
      const store = yield* VectorStore

      /** Chunks and embeds, batch by batch, so that other work gets its turn and a text is not held longer than needed. */
      const prepare = Effect.fnUntraced(function* (model: EmbeddingModel, documents: ReadonlyArray<Document>) {
        const batches = yield* Stream.fromIterable(chunkAll(documents), { chunkSize: TEXTS_PER_CALL }).pipe(
          Stream.grouped(TEXTS_PER_CALL),
          Stream.tap(() => Effect.yieldNow),
          Stream.mapEffect((batch) => embedBatch(model, batch), { concurrency: PARALLEL_CALLS }),
          Stream.runCollect
        )
        const chunks = documents.map((): Array<IndexedChunk> => [])
        for (const { place, ...each } of batches.flat()) chunks[place]!.push(each)
        return documents.map(
          (document, place): IndexedDocument => ({
            id: document.id,
            title: titleOf(document),
            metadata: document.metadata ?? {},
            contentHash: contentHash(document),
            chunks: chunks[place]!
          })
        )
      })

      const index = Effect.fn("Indexing.index")(function* (
        organization: OrganizationId,
        { collection, documents, model: selector }: Parameters<Indexing["Service"]["index"]>[1]
      ) {
        const ids = documents.map(({ id }) => id)
        const held = Option.getOrUndefined(yield* store.inspect(organization, collection, ids))
        const model = yield* embeddings.resolve(selector ?? (held && selectorOf(held.space)))
        const space = spaceOf(model)
        if (held !== undefined && !isSameSpace(held.space, space)) {
          return yield* new EmbeddingMismatch({ collection, expected: held.space, actual: space })
        }
        const changed = documents.filter((document) => held?.contentHashes.get(document.id) !== contentHash(document))
        if (changed.length === 0) return { chunksCreated: 0 }
        const prepared = yield* prepare(model, changed)
        yield* store.replace(organization, { collection, space, documents: prepared })
        return { chunksCreated: prepared.reduce((sum, { chunks }) => sum + chunks.length, 0) }
      })

      return Indexing.of({ index })
    })
  )
}
