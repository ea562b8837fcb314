import { Effect } from "effect"
import type { EmbedRequest } from "../domain/Embed.ts"
import { EMBED_MICRO } from "../domain/Tariff.ts"
import { Embeddings } from "../providers/Embeddings.ts"
import * as Metered from "./Metered.ts"

/** Turns texts into vectors. */
export const embed = Metered.paid({
  operation: "embed",
  scope: "invoke",
  plan: Effect.fnUntraced(function* ({ model: selector, texts }: EmbedRequest) {
    const model = yield* (yield* Embeddings).resolve(selector)
    return {
      boundMicro: EMBED_MICRO,
      model,
      run: Effect.map(model.embed(texts), (embeddings) => ({
        value: { embeddings, dimensions: model.dimensions },
        usedMicro: EMBED_MICRO
      }))
    }
  })
})
