import { Effect } from "effect"
import type { GenerateRequest } from "../domain/Generate.ts"
import { generateMicro } from "../domain/Tariff.ts"
import { estimateTokens } from "../domain/Tokens.ts"
import { LanguageModels } from "../providers/LanguageModels.ts"
import { ModelRefused, ProviderError } from "../providers/ProviderError.ts"
import * as Metered from "./Metered.ts"

/** Tokens that a vendor may add around a prompt: roles, separators. */
const FRAMING_TOKENS = 64

/** No tokenizer makes more tokens of a text than it has UTF-8 bytes. */
const promptTokensBound = (prompt: string, system: string): number =>
  Buffer.byteLength(prompt) + Buffer.byteLength(system) + FRAMING_TOKENS

/** Generates text from a prompt. */
export const generate = Metered.paid({
  operation: "generate",
  scope: "invoke",
  plan: Effect.fnUntraced(function* ({ model: selector, options = {}, prompt }: GenerateRequest) {
    const model = yield* (yield* LanguageModels).resolve(selector)
    const { max_tokens: maxTokens = model.defaultMaxTokens, system, temperature } = options
    if (maxTokens > model.maxOutputTokens) {
      const message = `Expected at most ${model.maxOutputTokens}, the limit of ${model.name}`
      const reason = new ModelRefused({ path: "options.max_tokens", message })
      return yield* new ProviderError({ provider: model.provider, reason })
    }
    return {
      boundMicro: generateMicro(promptTokensBound(prompt, system ?? "") + maxTokens),
      model,
      usedWhenAbandoned: () => generateMicro(estimateTokens(prompt) + estimateTokens(system ?? "")),
      run: Effect.map(
        model.generate({
          prompt,
          maxTokens,
          ...(system === undefined ? {} : { system }),
          ...(temperature === undefined ? {} : { temperature })
        }),
        ({ finishReason, text, usage, warnings }) => ({
          value: {
            type: "text" as const,
            text,
            model: { provider: model.provider, name: model.name },
            finish_reason: finishReason,
            usage,
            ...(warnings.length === 0 ? {} : { warnings })
          },
          usedMicro: generateMicro(usage.total_tokens)
        })
      )
    }
  })
})
