import { Effect, Schema } from "effect"
import type { Usage } from "../domain/Model.ts"
import { countTokens } from "../domain/Tokens.ts"
import type { GenerateCall } from "./LanguageModels.ts"
import { eachWithYield, slices } from "./Slices.ts"

/** A vendor's figure that can be charged. */
export const TokenCount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

export const usageOf = (prompt_tokens: number, completion_tokens: number): Usage => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens
})

const countInSlices = (text: string): Effect.Effect<number> =>
  Effect.map(eachWithYield(slices(text), countTokens), (counts) => counts.reduce((sum, count) => sum + count, 0))

/** Our own count, for answers without the vendor's. */
export const countedUsage = Effect.fnUntraced(function* ({ prompt, system = "" }: GenerateCall, text: string) {
  const promptTokens = (yield* countInSlices(prompt)) + (yield* countInSlices(system))
  return usageOf(promptTokens, yield* countInSlices(text))
})
