import { Effect, Option } from "effect"
import type { OrganizationId } from "../../domain/Ids.ts"
import type { IndexedChunk, IndexedDocument, VectorHit, VectorQuery, VectorStore } from "../VectorStore.ts"
import { bm25 } from "./Bm25.ts"
import { CollectionNotFound, EmbeddingMismatch, type EmbeddingSpace, isSameSpace } from "./EmbeddingSpace.ts"
import { blockOf, type PostingsBlock, packEntry } from "./Postings.ts"
import { compareHits, rankCandidates } from "./Ranking.ts"
import type { TermVector } from "./Terms.ts"

interface MemoryChunk extends IndexedChunk {
  readonly number: number
  readonly documentNumber: number
  readonly document: IndexedDocument
}

interface MemoryCollection {
  readonly space: EmbeddingSpace
  readonly chunks: Map<string, ReadonlyArray<MemoryChunk>>
  readonly hashes: Map<string, string>
  documents: number
  nextChunk: number
}

const cosine = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let [product, squareA, squareB] = [0, 0, 0]
  for (let index = 0; index < a.length; index++) {
    product += a[index]! * b[index]!
    squareA += a[index]! ** 2
    squareB += b[index]! ** 2
  }
  return product / Math.sqrt(squareA * squareB)
}

const postingsOf = (chunks: ReadonlyArray<MemoryChunk>, query: TermVector): ReadonlyArray<PostingsBlock> =>
  chunks.flatMap(({ number, terms }) =>
    Array.from(terms.hashes, (term, index) => ({
      term,
      block: blockOf(number),
      entries: [packEntry(number, terms.frequencies[index]!, terms.length)]
    })).filter(({ term }) => query.hashes.includes(term))
  )

/** `VectorStore` in memory: compares every vector, so its results are exact. */
export const makeMemory = (): VectorStore["Service"] => {
  const collections = new Map<string, MemoryCollection>()
  const find = (organization: OrganizationId, name: string) => collections.get(JSON.stringify([organization, name]))

  const put = (collection: MemoryCollection, document: IndexedDocument) => {
    const documentNumber = collection.documents++
    collection.hashes.set(document.id, document.contentHash)
    collection.chunks.set(
      document.id,
      document.chunks.map((chunk) => ({ ...chunk, number: collection.nextChunk++, documentNumber, document }))
    )
  }

  const rank = <E, R>(
    collection: MemoryCollection,
    query: VectorQuery<E, R>,
    { embedding, fusion }: Effect.Success<ReturnType<VectorQuery<E, R>["embed"]>>
  ): ReadonlyArray<VectorHit> => {
    const chunks = Array.from(collection.chunks.values()).flat()
    const statistics = {
      chunkCount: chunks.length,
      termTotal: chunks.reduce((sum, chunk) => sum + chunk.terms.length, 0)
    }
    const lexical = bm25(query.terms, statistics, postingsOf(chunks, query.terms))
    const candidates = chunks.map((chunk) => ({
      chunk: chunk.number,
      document: chunk.documentNumber,
      similarity: cosine(embedding, chunk.embedding)
    }))
    const byNumber = new Map(chunks.map((chunk) => [chunk.number, chunk]))
    return rankCandidates(candidates, { ...query, fusion, lexicalScoreOf: lexical.scoreOf })
      .best.map(({ chunk, score }) => {
        const { content, document } = byNumber.get(chunk)!
        return { documentId: document.id, chunk, title: document.title, metadata: document.metadata, content, score }
      })
      .sort(compareHits)
      .slice(0, query.topK)
  }

  return {
    inspect: (organization, name) =>
      Effect.sync(() => {
        const collection = find(organization, name)
        return collection === undefined
          ? Option.none()
          : Option.some({ space: collection.space, contentHashes: new Map(collection.hashes) })
      }),

    replace: Effect.fn("VectorStore.replace")(function* (organization, request) {
      const collection = find(organization, request.collection) ?? {
        space: request.space,
        chunks: new Map(),
        hashes: new Map(),
        documents: 0,
        nextChunk: 0
      }
      if (!isSameSpace(collection.space, request.space)) {
        return yield* new EmbeddingMismatch({
          collection: request.collection,
          expected: collection.space,
          actual: request.space
        })
      }
      for (const document of request.documents) put(collection, document)
      collections.set(JSON.stringify([organization, request.collection]), collection)
    }),

    search: <E, R>(organization: OrganizationId, query: VectorQuery<E, R>) =>
      Effect.gen(function* () {
        const collection = find(organization, query.collection)
        if (collection === undefined) return yield* new CollectionNotFound({ collection: query.collection })
        if (collection.chunks.size === 0) return []
        return rank(collection, query, yield* query.embed(collection.space))
      })
  }
}
