import { Schema } from "effect"

/**
 * Field names in `domain` are those of the `/v1` wire format, so that what REST decodes needs no translation; GraphQL
 * shows the same names in camelCase.
 */

const Identifier = Schema.String.check(Schema.isBetweenLength(1, 256))

/** Which vendor and model to use; what is left out is the configured default. */
export const ModelSelector = Schema.Struct({
  provider: Schema.optionalKey(Identifier.annotate({ description: "Identifier of the model vendor, in lowercase." })),
  name: Schema.optionalKey(Identifier.annotate({ description: "Model name; the vendor's default model without it." }))
}).annotate({ identifier: "ModelSelector", description: "Which vendor and model to use." })
export type ModelSelector = typeof ModelSelector.Type

/** A selector for embeddings, which may also ask for a vector length. */
export const EmbeddingModelSelector = Schema.Struct({
  ...ModelSelector.fields,
  dimensions: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4096 })).annotate({
      description: "Length of each vector, where the model can choose it."
    })
  )
}).annotate({ identifier: "EmbeddingModelSelector", description: "Which vendor and embedding model to use." })
export type EmbeddingModelSelector = typeof EmbeddingModelSelector.Type

/** The vendor and model that answered. */
export const ModelUsed = Schema.Struct({
  provider: Schema.String,
  name: Schema.String
}).annotate({ identifier: "ModelUsed", description: "The vendor and model that answered." })
export type ModelUsed = typeof ModelUsed.Type

/** Tokens of one call, as the vendor counted them where it does. */
export const Usage = Schema.Struct({
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  total_tokens: Schema.Int
}).annotate({ identifier: "Usage", description: "Tokens of one call, as the vendor counted them." })
export type Usage = typeof Usage.Type

export const CreditsUsed = Schema.Finite.annotate({ description: "Credits that this call was charged." })
