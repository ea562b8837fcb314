import { Array, Effect, Option } from "effect"
import type { SqlClient } from "effect/sql"
import type { OrganizationId } from "../../domain/Ids.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import type { IndexedChunk, IndexedDocument, VectorStore } from "../VectorStore.ts"
import { EmbeddingMismatch, type EmbeddingSpace, isSameSpace } from "./EmbeddingSpace.ts"
import { postingColumns } from "./Postings.ts"

interface LockedCollection extends EmbeddingSpace {
  readonly id: number
  readonly next_document: number
  readonly next_chunk: number
}

interface NumberedChunk extends IndexedChunk {
  readonly number: number
  readonly document: number
}

/** Bounds a statement's parameters to a few megabytes, whatever the vectors' length. */
const chunksPerStatement = (dimensions: number): number => Math.max(1, Math.floor(200_000 / Math.max(400, dimensions)))

/** A vector as pgvector reads it. Eight digits are all that its 32-bit numbers keep. */
export const vectorLiteral = (embedding: ArrayLike<number>): string =>
  `[${globalThis.Array.from(embedding, (value) => Number(value.toPrecision(8))).join(",")}]`

const numberChunks = (documents: ReadonlyArray<IndexedDocument>, collection: LockedCollection): Array<NumberedChunk> =>
  documents
    .flatMap(({ chunks }, index) => chunks.map((chunk) => ({ ...chunk, document: collection.next_document + index })))
    .map((chunk, index) => ({ ...chunk, number: collection.next_chunk + index }))

/** The number of each document's first chunk. */
const firstChunks = (documents: ReadonlyArray<IndexedDocument>, collection: LockedCollection): Array<number> => {
  let next = collection.next_chunk
  return documents.map(({ chunks }) => {
    const first = next
    next += chunks.length
    return first
  })
}

export const makeSqlWriter = (sql: SqlClient.SqlClient): Pick<VectorStore["Service"], "inspect" | "replace"> => {
  /** Finds or creates the collection and locks its row: writers of one collection wait for each other here, only here. */
  const lockCollection = Effect.fnUntraced(function* (
    organization: OrganizationId,
    name: string,
    space: EmbeddingSpace
  ) {
    const [held] = yield* sql<LockedCollection>`
      SELECT id, provider, model, dimensions, next_document, next_chunk FROM collections
       WHERE organization_id = ${organization} AND name = ${name} FOR UPDATE`
    if (held !== undefined) return held
    // Another writer may create it first; then this one waits for that one and takes its row.
    const [created] = yield* sql<LockedCollection>`
      INSERT INTO collections (organization_id, name, provider, model, dimensions)
      VALUES (${organization}, ${name}, ${space.provider}, ${space.model}, ${space.dimensions})
      ON CONFLICT (organization_id, name) DO UPDATE SET name = excluded.name
      RETURNING id, provider, model, dimensions, next_document, next_chunk`
    return created!
  })

  const insertDocuments = (
    organization: OrganizationId,
    collection: LockedCollection,
    documents: ReadonlyArray<IndexedDocument>
  ) => sql`
    INSERT INTO documents (
      organization_id, collection_id, number, id, title, metadata, content_hash, first_chunk, chunk_count
    )
    SELECT ${organization}, ${collection.id}::int, number, id, title, metadata::json, content_hash, first_chunk, chunk_count
      FROM unnest(
        ${documents.map((_, index) => collection.next_document + index)}::int[],
        ${documents.map(({ id }) => id)}::text[],
        ${documents.map(({ title }) => title)}::text[],
        ${documents.map(({ metadata }) => JSON.stringify(metadata))}::text[],
        ${documents.map(({ contentHash }) => contentHash)}::text[],
        ${firstChunks(documents, collection)}::int[],
        ${documents.map(({ chunks }) => chunks.length)}::int[]
      ) AS document (number, id, title, metadata, content_hash, first_chunk, chunk_count)`

  const insertChunks = Effect.fnUntraced(function* (
    organization: OrganizationId,
    collection: LockedCollection,
    chunks: ReadonlyArray<NumberedChunk>
  ) {
    const numbers = chunks.map(({ number }) => number)
    const documents = chunks.map(({ document }) => document)
    yield* sql`
      INSERT INTO chunks (organization_id, collection_id, number, document, content, terms, length)
      SELECT ${organization}, ${collection.id}::int, number, document, content, terms::int[], length
        FROM unnest(
          ${numbers}::int[],
          ${documents}::int[],
          ${chunks.map(({ content }) => content)}::text[],
          ${chunks.map(({ terms }) => `{${terms.hashes.join(",")}}`)}::text[],
          ${chunks.map(({ terms }) => terms.length)}::int[]
        ) AS chunk (number, document, content, terms, length)`
    yield* sql`
      INSERT INTO embeddings (organization_id, collection_id, chunk, document, embedding)
      SELECT ${organization}, ${collection.id}::int, chunk, document, embedding::vector
        FROM unnest(
          ${numbers}::int[],
          ${documents}::int[],
          ${chunks.map(({ embedding }) => vectorLiteral(embedding))}::text[]
        ) AS row (chunk, document, embedding)`
    const postings = postingColumns(chunks)
    yield* sql`
      INSERT INTO postings (organization_id, collection_id, term, block, entries)
      SELECT ${organization}, ${collection.id}::int, term, block, array_agg(entry)
        FROM unnest(${postings.terms}::int[], ${postings.blocks}::int[], ${postings.entries}::int[])
          AS posting (term, block, entry)
       GROUP BY term, block
      ON CONFLICT (collection_id, term, block) DO UPDATE SET entries = postings.entries || excluded.entries`
  })

  const replace = Effect.fn("VectorStore.replace")(
    function* (organization: OrganizationId, request: Parameters<VectorStore["Service"]["replace"]>[1]) {
      const { space, documents } = request
      const collection = yield* lockCollection(organization, request.collection, space)
      if (!isSameSpace(collection, space)) {
        const { provider, model, dimensions } = collection
        return yield* new EmbeddingMismatch({
          collection: request.collection,
          expected: { provider, model, dimensions },
          actual: space
        })
      }
      yield* sql`SELECT remove_documents(${collection.id}::int, ${documents.map(({ id }) => id)}::text[])`
      yield* insertDocuments(organization, collection, documents)
      const chunks = numberChunks(documents, collection)
      for (const batch of Array.chunksOf(chunks, chunksPerStatement(space.dimensions))) {
        yield* insertChunks(organization, collection, batch)
      }
      yield* sql`
        UPDATE collections SET
          next_document = next_document + ${documents.length}::int,
          next_chunk = next_chunk + ${chunks.length}::int,
          chunk_count = chunk_count + ${chunks.length}::int,
          term_total = term_total + ${chunks.reduce((sum, { terms }) => sum + terms.length, 0)}::bigint
        WHERE id = ${collection.id}`
    },
    sql.withTransaction,
    orUnavailable
  )

  const inspect = Effect.fn("VectorStore.inspect")(function* (
    organization: OrganizationId,
    name: string,
    documentIds: ReadonlyArray<string>
  ) {
    const rows = yield* sql<EmbeddingSpace & { readonly id: string | null; readonly content_hash: string | null }>`
      SELECT provider, model, dimensions, documents.id, content_hash
        FROM collections
        LEFT JOIN documents ON documents.collection_id = collections.id AND documents.id = ANY(${documentIds}::text[])
       WHERE collections.organization_id = ${organization} AND name = ${name}`
    return Option.map(Option.fromNullishOr(rows[0]), ({ provider, model, dimensions }) => ({
      space: { provider, model, dimensions },
      contentHashes: new Map(rows.flatMap(({ id, content_hash }) => (id && content_hash ? [[id, content_hash]] : [])))
    }))
  }, orUnavailable)

  return { inspect, replace }
}
