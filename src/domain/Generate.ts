import { Schema } from "effect"
import { CreditsUsed, ModelSelector, ModelUsed, Usage } from "./Model.ts"

const MAX_PROMPT_LENGTH = 1_048_576

/** Output tokens that a call may ask for; a model may allow fewer. */
export const MAX_OUTPUT_TOKENS = 1_048_576

export const GenerateOptions = Schema.Struct({
  temperature: Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 })).annotate({ description: "Sampling temperature." })
  ),
  max_tokens: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_OUTPUT_TOKENS })).annotate({
      description: "Upper bound of output tokens."
    })
  ),
  system: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(MAX_PROMPT_LENGTH)).annotate({ description: "System prompt." })
  )
}).annotate({ identifier: "GenerateOptions", description: "How to sample the answer." })

export const GenerateRequest = Schema.Struct({
  prompt: Schema.String.check(Schema.isBetweenLength(1, MAX_PROMPT_LENGTH)).annotate({ description: "The prompt." }),
  model: Schema.optionalKey(ModelSelector),
  options: Schema.optionalKey(GenerateOptions)
}).annotate({ identifier: "GenerateRequest", description: "A prompt for a language model." })
export type GenerateRequest = typeof GenerateRequest.Type

/** Why the model stopped: at a natural end, at `max_tokens`, or because the vendor's filter cut the answer. */
export const FinishReason = Schema.Literals(["stop", "length", "content_filter"]).annotate({
  identifier: "FinishReason"
})
export type FinishReason = typeof FinishReason.Type

export const GenerateResult = Schema.Struct({
  type: Schema.Literal("text").annotate({ description: "Kind of output." }),
  text: Schema.String.annotate({ description: "The model's answer." }),
  model: ModelUsed,
  finish_reason: FinishReason.annotate({ description: "Why the model stopped." }),
  usage: Usage,
  warnings: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({ description: "What the model could not honour of the request." })
  ),
  credits_used: CreditsUsed
}).annotate({ identifier: "GenerateResult", description: "A model's answer." })
export type GenerateResult = typeof GenerateResult.Type
