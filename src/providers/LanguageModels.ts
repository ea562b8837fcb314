import { Context, type Effect } from "effect"
import type { FinishReason } from "../domain/Generate.ts"
import type { ModelSelector, Usage } from "../domain/Model.ts"
import type { ProviderError } from "./ProviderError.ts"

export interface GenerateCall {
  readonly prompt: string
  readonly system?: string
  readonly temperature?: number
  /** Upper bound of output tokens; never above the model's `maxOutputTokens`. */
  readonly maxTokens: number
}

export interface Generation {
  readonly text: string
  readonly finishReason: FinishReason
  readonly usage: Usage
  /** What of the call the model could not honour, in words for the caller. */
  readonly warnings: ReadonlyArray<string>
}

/** A vendor's model, ready to be called. */
export interface LanguageModel {
  readonly provider: string
  readonly name: string
  /** Output tokens when the caller sets no bound. */
  readonly defaultMaxTokens: number
  /** The most output tokens that may be asked for. */
  readonly maxOutputTokens: number
  generate(call: GenerateCall): Effect.Effect<Generation, ProviderError>
}

/** Text generation by any configured vendor. */
export class LanguageModels extends Context.Service<
  LanguageModels,
  {
    /** Finds the model that a selector names, filling what it leaves out from configuration. */
    resolve(selector: ModelSelector | undefined): Effect.Effect<LanguageModel, ProviderError>
  }
>()("sluice/providers/LanguageModels") {}
