import { Schema } from "effect"
import { CreditsUsed, EmbeddingModelSelector } from "./Model.ts"

export const EmbedRequest = Schema.Struct({
  texts: Schema.Array(Schema.NonEmptyString)
    .check(Schema.isBetweenLength(1, 2048))
    .annotate({ description: "Texts to embed, at most 2,048, each not empty." }),
  model: Schema.optionalKey(EmbeddingModelSelector)
}).annotate({ identifier: "EmbedRequest", description: "Texts to turn into vectors." })
export type EmbedRequest = typeof EmbedRequest.Type

export const EmbedResult = Schema.Struct({
  embeddings: Schema.Array(Schema.Array(Schema.Finite)).annotate({
    description: "One vector per input text, in input order."
  }),
  dimensions: Schema.Int.annotate({ description: "Length of each vector." }),
  credits_used: CreditsUsed
}).annotate({ identifier: "EmbedResult", description: "Vectors of the given texts." })
export type EmbedResult = typeof EmbedResult.Type
