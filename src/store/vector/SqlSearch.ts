import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { OrganizationId } from "../../domain/Ids.ts"
import type { JsonObject } from "../../domain/Json.ts"
import { orUnavailable, type StoreUnavailable } from "../StoreUnavailable.ts"
import type { VectorHit, VectorQuery, VectorStore } from "../VectorStore.ts"
import { bm25, type LexicalMatches } from "./Bm25.ts"
import { CollectionNotFound, type EmbeddingSpace } from "./EmbeddingSpace.ts"
import type { PostingsBlock } from "./Postings.ts"
import { type Candidate, compareHits, type Fusion, type Ranked, rankCandidates } from "./Ranking.ts"
import { vectorLiteral } from "./SqlWriter.ts"
import type { TermVector } from "./Terms.ts"

/** How many chunks BM25 and the vectors each put forward; more when they belong to too few documents. */
const CANDIDATES = 400
const WIDENING = 8

/** A search that meets a replacement under way starts over, at most this often in all. */
const MAX_ATTEMPTS = 3

interface Snapshot {
  readonly id: number
  readonly space: EmbeddingSpace
  readonly chunkCount: number
  readonly lexical: LexicalMatches
}

interface SnapshotRow extends EmbeddingSpace {
  readonly id: number
  readonly chunk_count: number
  readonly term_total: number
  readonly term: number | null
  readonly block: number | null
  readonly entries: ReadonlyArray<number> | null
}

interface ContentRow {
  readonly chunk: number
  readonly document_id: string
  readonly title: string
  readonly metadata: string
  readonly content: string
}

interface EmbeddedQuery {
  readonly embedding: ArrayLike<number>
  readonly fusion: Fusion
}

/** Searches with three short statements: statistics and postings, vectors of the candidates, texts of the results. */
export const makeSqlSearch = (sql: SqlClient.SqlClient): VectorStore["Service"]["search"] => {
  const takeSnapshot = Effect.fnUntraced(function* (organization: OrganizationId, name: string, terms: TermVector) {
    const rows = yield* sql<SnapshotRow>`
      SELECT id, provider, model, dimensions, chunk_count, term_total, term, block, entries
        FROM collections
        LEFT JOIN postings ON postings.collection_id = collections.id
         AND term = ANY(${Array.from(terms.hashes)}::int[])
       WHERE collections.organization_id = ${organization} AND name = ${name}`
    const [row] = rows
    if (row === undefined) return yield* new CollectionNotFound({ collection: name })
    const { id, provider, model, dimensions, chunk_count, term_total } = row
    const statistics = { chunkCount: chunk_count, termTotal: Number(term_total) }
    const postings = rows.flatMap(
      ({ term, block, entries }): ReadonlyArray<PostingsBlock> =>
        term === null || block === null || entries === null ? [] : [{ term, block, entries }]
    )
    const snapshot: Snapshot = {
      id,
      space: { provider, model, dimensions },
      chunkCount: chunk_count,
      lexical: bm25(terms, statistics, postings)
    }
    return snapshot
  }, orUnavailable)

  /** Cosines of the given chunks and of the `nearest` chunks that the vectors put forward. */
  const selectCandidates = Effect.fnUntraced(function* (
    organization: OrganizationId,
    collection: number,
    chunks: ReadonlyArray<number>,
    embedding: ArrayLike<number>,
    nearest: number
  ) {
    // The literal is read in a sub-select: a prepared statement would read it again for each row.
    return yield* sql<Candidate>`
      WITH query AS MATERIALIZED (SELECT ${vectorLiteral(embedding)}::text::vector AS embedding),
      nearest AS (
        SELECT chunk FROM embeddings
         WHERE organization_id = ${organization} AND collection_id = ${collection}::int
         ORDER BY embedding <=> (SELECT embedding FROM query)
         LIMIT ${nearest}::int
      )
      SELECT chunk, document, 1 - (embedding <=> (SELECT embedding FROM query)) AS similarity
        FROM embeddings
       WHERE organization_id = ${organization} AND collection_id = ${collection}::int
         AND chunk = ANY(ARRAY(SELECT unnest(${chunks}::int[]) UNION SELECT chunk FROM nearest))`
  }, orUnavailable)

  const rankIn = Effect.fnUntraced(function* <E, R>(
    organization: OrganizationId,
    query: VectorQuery<E, R>,
    { id, chunkCount, lexical }: Snapshot,
    { embedding, fusion }: EmbeddedQuery
  ) {
    for (let width = CANDIDATES; ; width *= WIDENING) {
      const matches = lexical.ranked.slice(0, width).map(({ chunk }) => chunk)
      const isEnough = fusion.scan === "whenNeeded" && lexical.knowsAllTerms && matches.length === width
      const candidates = yield* selectCandidates(organization, id, matches, embedding, isEnough ? 0 : width)
      const ranking = rankCandidates(candidates, { ...query, fusion, lexicalScoreOf: lexical.scoreOf })
      if (ranking.total < query.topK && width < chunkCount) continue
      const found = new Set(candidates.map(({ chunk }) => chunk))
      return { best: ranking.best, isCurrent: matches.every((chunk) => found.has(chunk)) }
    }
  })

  const selectContents = Effect.fnUntraced(function* (
    organization: OrganizationId,
    collection: number,
    best: ReadonlyArray<Ranked>
  ) {
    const rows = yield* sql<ContentRow>`
      SELECT chunks.number AS chunk, documents.id AS document_id, title, metadata::text AS metadata, content
        FROM chunks
        JOIN documents ON documents.collection_id = chunks.collection_id AND documents.number = chunks.document
       WHERE chunks.organization_id = ${organization} AND chunks.collection_id = ${collection}::int
         AND chunks.number = ANY(${best.map(({ chunk }) => chunk)}::int[])`
    const scores = new Map(best.map(({ chunk, score }) => [chunk, score]))
    return rows.map(({ chunk, document_id, title, metadata, content }): VectorHit => {
      const parsed: JsonObject = JSON.parse(metadata)
      return { documentId: document_id, chunk, title, metadata: parsed, content, score: scores.get(chunk)! }
    })
  }, orUnavailable)

  const attempt = Effect.fnUntraced(function* <E, R>(
    organization: OrganizationId,
    query: VectorQuery<E, R>,
    snapshot: Snapshot,
    embedded: EmbeddedQuery
  ) {
    const { best, isCurrent } = yield* rankIn(organization, query, snapshot, embedded)
    const hits = yield* selectContents(organization, snapshot.id, best)
    return {
      hits: hits.sort(compareHits).slice(0, query.topK),
      isCurrent: isCurrent && hits.length === best.length
    }
  })

  return <E, R>(
    organization: OrganizationId,
    query: VectorQuery<E, R>
  ): Effect.Effect<ReadonlyArray<VectorHit>, CollectionNotFound | StoreUnavailable | E, R> =>
    Effect.gen(function* () {
      const { collection, terms } = query
      let snapshot = yield* takeSnapshot(organization, collection, terms)
      if (snapshot.chunkCount === 0) return []
      const embedded = yield* query.embed(snapshot.space)
      for (let attempts = 1; ; attempts++) {
        const { hits, isCurrent } = yield* attempt(organization, query, snapshot, embedded)
        if (isCurrent || attempts === MAX_ATTEMPTS) return hits
        snapshot = yield* takeSnapshot(organization, collection, terms)
      }
    }).pipe(Effect.withSpan("VectorStore.search"))
}
