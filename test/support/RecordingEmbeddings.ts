import { Effect, Layer } from "effect"
import { analyze } from "../../src/domain/Analyzer.ts"
import { Embeddings } from "../../src/providers/Embeddings.ts"
import { ProviderError, ProviderOverloaded } from "../../src/providers/ProviderError.ts"

export const embeddingsFailure = new ProviderError({ provider: "test", reason: new ProviderOverloaded({}) })

const embedText = (text: string, dimensions: number): ReadonlyArray<number> => {
  const vector = Array.from({ length: dimensions }, () => 0)
  for (const term of analyze(text)) vector[(term.charCodeAt(0) + term.length) % dimensions]! += 1
  return vector
}

/** Embeddings by word counts that write down each call's texts; from call number `failsFrom` on, calls fail. */
export const recordingEmbeddings = (options: { readonly failsFrom?: number } = {}) => {
  const calls: Array<ReadonlyArray<string>> = []
  let [running, mostRunning] = [0, 0]
  const embed = (texts: ReadonlyArray<string>, dimensions: number) =>
    Effect.gen(function* () {
      calls.push(texts)
      mostRunning = Math.max(mostRunning, ++running)
      yield* Effect.repeat(Effect.yieldNow, { times: 50 })
      running--
      if (calls.length >= (options.failsFrom ?? Number.POSITIVE_INFINITY)) return yield* embeddingsFailure
      return texts.map((text) => embedText(text, dimensions))
    })
  const layer = Layer.succeed(
    Embeddings,
    Embeddings.of({
      resolve: (selector) =>
        Effect.sync(() => {
          const dimensions = selector?.dimensions ?? 16
          return {
            provider: selector?.provider ?? "test",
            name: selector?.name ?? "lexical-16",
            dimensions,
            embed: (texts) => embed(texts, dimensions)
          }
        })
    })
  )
  return { calls, layer, mostRunning: () => mostRunning }
}
