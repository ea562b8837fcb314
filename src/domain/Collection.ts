import { Schema } from "effect"
import { JsonObject } from "./Json.ts"
import { CreditsUsed, EmbeddingModelSelector } from "./Model.ts"

export const CollectionName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9._-]{1,128}$/, {
    expected: "a collection name of 1 to 128 letters, digits, '.', '_' or '-'"
  })
).annotate({ description: "Name of the collection: letters, digits, `.`, `_` and `-`." })

/** Text that a database column can hold: everything but the NUL character. */
const storable = Schema.isPattern(/^[^\0]*$/, { expected: "text without NUL characters" })

/** Half a surrogate pair has no UTF-8 form: ids that differ in one would be stored as the same. */
const wellFormed = Schema.makeFilter<string>((text) => text.isWellFormed(), { expected: "well-formed Unicode" })

export const Document = Schema.Struct({
  id: Schema.String.check(Schema.isBetweenLength(1, 512), storable, wellFormed).annotate({
    description: "Caller-chosen document identifier; indexing it again replaces the document."
  }),
  content: Schema.NonEmptyString.annotate({ description: "Text to index." }),
  title: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(4096), storable).annotate({ description: "Document title." })
  ),
  metadata: Schema.optionalKey(JsonObject.annotate({ description: "Returned with the document in search results." }))
}).annotate({ identifier: "Document", description: "A text with its identifier." })
export type Document = typeof Document.Type

const hasUniqueIds = Schema.makeFilter<ReadonlyArray<Document>>((documents) => {
  const seen = new Set<string>()
  const repeated = documents.findIndex((document) => seen.size === seen.add(document.id).size)
  return repeated === -1
    ? undefined
    : { path: [repeated, "id"], issue: "Expected an id that no other document of the request has" }
})

export const IndexRequest = Schema.Struct({
  collection: CollectionName,
  documents: Schema.Array(Document)
    .check(Schema.isBetweenLength(1, 1000), hasUniqueIds)
    .annotate({ description: "Documents to index, at most 1,000; all of them are indexed or none." }),
  model: Schema.optionalKey(EmbeddingModelSelector)
}).annotate({ identifier: "IndexRequest", description: "Documents to put into a collection." })
export type IndexRequest = typeof IndexRequest.Type

export const IndexResult = Schema.Struct({
  collection: Schema.String.annotate({ description: "Name of the collection." }),
  documents_indexed: Schema.Int.annotate({ description: "Documents of the request, all of which are now searchable." }),
  chunks_created: Schema.Int.annotate({ description: "Chunks that were embedded; unchanged documents create none." }),
  document_ids: Schema.Array(Schema.String).annotate({ description: "Identifiers of the documents, in input order." }),
  credits_used: CreditsUsed
}).annotate({ identifier: "IndexResult", description: "What was indexed." })
export type IndexResult = typeof IndexResult.Type

export const SearchRequest = Schema.Struct({
  query: Schema.String.check(Schema.isBetweenLength(1, 32_768)).annotate({ description: "What to look for." }),
  collection: CollectionName,
  top_k: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })).annotate({
      description: "Number of results, 5 without it."
    })
  ),
  min_score: Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })).annotate({
      description: "Leaves out results with a lower score."
    })
  )
}).annotate({ identifier: "SearchRequest", description: "A search in one collection." })
export type SearchRequest = typeof SearchRequest.Type

export const SearchResult = Schema.Struct({
  id: Schema.String.annotate({ description: "Document identifier." }),
  content: Schema.String.annotate({ description: "The document's best matching chunk." }),
  score: Schema.Finite.annotate({ description: "Relevance from 0 to 1; it orders the results." }),
  metadata: Schema.Record(Schema.String, Schema.Unknown).annotate({
    description: "The document's metadata; it always carries `title`."
  })
}).annotate({ identifier: "SearchResult", description: "One document that matches." })
export type SearchResult = typeof SearchResult.Type

export const SearchResults = Schema.Struct({
  results: Schema.Array(SearchResult).annotate({ description: "The best first, one result per document." }),
  credits_used: CreditsUsed
}).annotate({ identifier: "SearchResults", description: "Documents that match, the best first." })
export type SearchResults = typeof SearchResults.Type
