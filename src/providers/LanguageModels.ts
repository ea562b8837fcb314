import { Context, Effect, Layer } from "effect"
import type { FinishReason } from "../domain/Generate.ts"
import type { ModelSelector, Usage } from "../domain/Model.ts"
import { Deployments, findDeployment } from "./Deployments.ts"
import { ModelNotFound, ProviderError } from "./ProviderError.ts"
import { resilient } from "./Resilience.ts"

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

/** A long answer takes minutes to write. */
const ATTEMPT_TIMEOUT = "5 minutes"

const make = Effect.gen(function* () {
  const { generation } = yield* Deployments
  const generateBy = new Map(
    yield* Effect.forEach(generation.byProvider, ([provider, { endpoint, row }]) =>
      Effect.map(row.connect(endpoint), (connected) => [provider, connected] as const)
    )
  )
  const resolve = Effect.fn("LanguageModels.resolve")(function* (selector: ModelSelector | undefined) {
    const { provider, row } = yield* findDeployment(generation, selector?.provider)
    const name = selector?.name ?? row.defaultModel
    if (row.models?.includes(name) === false) {
      return yield* new ProviderError({ provider, reason: new ModelNotFound({ model: name }) })
    }
    const generate = generateBy.get(provider)!
    return {
      provider,
      name,
      defaultMaxTokens: row.defaultMaxTokens,
      maxOutputTokens: row.maxOutputTokens,
      generate: Effect.fn("LanguageModel.generate")(
        (call: GenerateCall) => generate(name, call),
        resilient(provider, ATTEMPT_TIMEOUT)
      )
    } satisfies LanguageModel
  })
  return LanguageModels.of({ resolve })
})

/** Text generation by any configured vendor. */
export class LanguageModels extends Context.Service<
  LanguageModels,
  {
    /** Finds the model that a selector names, filling what it leaves out from configuration. */
    resolve(selector: ModelSelector | undefined): Effect.Effect<LanguageModel, ProviderError>
  }
>()("sluice/providers/LanguageModels") {
  static readonly layerNoDeployments = Layer.effect(LanguageModels, make)
  static readonly layer = LanguageModels.layerNoDeployments.pipe(Layer.provide(Deployments.layer))
  /** The local model alone. */
  static readonly layerMemory = LanguageModels.layerNoDeployments.pipe(Layer.provide(Deployments.layerMemory))
}
