import { Schema } from "effect"

/** The vendor, model and vector length that a collection is bound to from its first document on. */
export const EmbeddingSpace = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  dimensions: Schema.Int
})
export type EmbeddingSpace = typeof EmbeddingSpace.Type

export const isSameSpace = (a: EmbeddingSpace, b: EmbeddingSpace): boolean =>
  a.provider === b.provider && a.model === b.model && a.dimensions === b.dimensions

export class CollectionNotFound extends Schema.TaggedError<CollectionNotFound>()("CollectionNotFound", {
  collection: Schema.String
}) {}

/** The collection holds vectors of another embedding space. */
export class EmbeddingMismatch extends Schema.TaggedError<EmbeddingMismatch>()("EmbeddingMismatch", {
  collection: Schema.String,
  expected: EmbeddingSpace,
  actual: EmbeddingSpace
}) {}
