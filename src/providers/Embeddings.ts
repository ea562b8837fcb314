import { Context, Effect, Layer } from "effect"
import type { EmbeddingModelSelector } from "../domain/Model.ts"
import { Deployments, findDeployment } from "./Deployments.ts"
import { ModelNotFound, ModelRefused, ProviderError } from "./ProviderError.ts"
import { resilient } from "./Resilience.ts"
import type { Embed, EmbeddingRow } from "./Vendor.ts"
import { unreadable } from "./VendorFailure.ts"

/** A vendor's embedding model, ready to be called. */
export interface EmbeddingModel {
  readonly provider: string
  readonly name: string
  /** Length of each vector. */
  readonly dimensions: number
  /** One vector per text, in input order, each `dimensions` long. */
  embed(texts: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<ReadonlyArray<number>>, ProviderError>
}

const ATTEMPT_TIMEOUT = "1 minute"
const PARALLEL_BATCHES = 4

/** Length of the vectors of a model, and whether the vendor must be asked for it. */
const decideDimensions = Effect.fnUntraced(function* (
  provider: string,
  { isClosed, known }: EmbeddingRow,
  name: string,
  asked: number | undefined
) {
  const lengths = known.get(name)
  const refuse = (message: string) =>
    new ProviderError({ provider, reason: new ModelRefused({ path: "model.dimensions", message }) })
  if (lengths === undefined) {
    if (isClosed) return yield* new ProviderError({ provider, reason: new ModelNotFound({ model: name }) })
    if (asked === undefined) return yield* refuse(`Expected the length of ${name}'s vectors, which is not known here`)
    return { dimensions: asked, isAsked: true }
  }
  const dimensions = asked ?? lengths.default
  if (dimensions < lengths.min || dimensions > lengths.max) {
    const expected = lengths.min === lengths.max ? lengths.min : `a length between ${lengths.min} and ${lengths.max}`
    return yield* refuse(`Expected ${expected} for ${name}`)
  }
  return { dimensions, isAsked: dimensions !== lengths.default }
})

/** Cuts texts into runs that one request may carry; a text that is too long alone is left for the vendor to refuse. */
const toBatches = (texts: ReadonlyArray<string>, limit: EmbeddingRow["batch"]): Array<Array<string>> => {
  const batches: Array<Array<string>> = []
  let bytes = Number.POSITIVE_INFINITY
  for (const text of texts) {
    const size = Buffer.byteLength(text)
    const last = batches.at(-1)
    if (last === undefined || last.length >= limit.texts || bytes + size > limit.bytes) {
      batches.push([text])
      bytes = size
    } else {
      last.push(text)
      bytes += size
    }
  }
  return batches
}

/** Embeds one batch and holds the vendor to its promise. */
const embedBatch = Effect.fnUntraced(function* (
  provider: string,
  embed: Embed,
  call: Parameters<Embed>[0],
  length: number
) {
  const vectors = yield* embed(call)
  return vectors.length === call.texts.length && vectors.every((vector) => vector.length === length)
    ? vectors
    : yield* unreadable(provider, "Vectors of another number or length")
})

const make = Effect.gen(function* () {
  const { embedding } = yield* Deployments
  const embedBy = new Map(
    yield* Effect.forEach(embedding.byProvider, ([provider, { endpoint, row }]) =>
      Effect.map(row.connect(endpoint), (connected) => [provider, connected] as const)
    )
  )
  const resolve = Effect.fn("Embeddings.resolve")(function* (selector: EmbeddingModelSelector | undefined) {
    const { provider, row } = yield* findDeployment(embedding, selector?.provider)
    const name = selector?.name ?? row.defaultModel
    const { dimensions, isAsked } = yield* decideDimensions(provider, row, name, selector?.dimensions)
    const call = { model: name, ...(isAsked ? { dimensions } : {}) }
    const embed = Effect.fn("EmbeddingModel.embed")(function* (texts: ReadonlyArray<string>) {
      const batches = yield* Effect.forEach(
        toBatches(texts, row.batch),
        (batch) =>
          resilient(
            provider,
            ATTEMPT_TIMEOUT
          )(embedBatch(provider, embedBy.get(provider)!, { ...call, texts: batch }, dimensions)),
        { concurrency: PARALLEL_BATCHES }
      )
      return batches.flat()
    })
    return { provider, name, dimensions, embed } satisfies EmbeddingModel
  })
  return Embeddings.of({ resolve })
})

/** Embeddings by any configured vendor. */
export class Embeddings extends Context.Service<
  Embeddings,
  {
    /** Finds the model that a selector names, filling what it leaves out from configuration. */
    resolve(selector: EmbeddingModelSelector | undefined): Effect.Effect<EmbeddingModel, ProviderError>
  }
>()("sluice/providers/Embeddings") {
  static readonly layerNoDeployments = Layer.effect(Embeddings, make)
  static readonly layer = Embeddings.layerNoDeployments.pipe(Layer.provide(Deployments.layer))
  /** The local model alone. */
  static readonly layerMemory = Embeddings.layerNoDeployments.pipe(Layer.provide(Deployments.layerMemory))
}
