import { Context, type Effect } from "effect"
import type { EmbeddingModelSelector } from "../domain/Model.ts"
import type { ProviderError } from "./ProviderError.ts"

/** A vendor's embedding model, ready to be called. */
export interface EmbeddingModel {
  readonly provider: string
  readonly name: string
  /** Length of each vector. */
  readonly dimensions: number
  /** One vector per text, in input order, each `dimensions` long. */
  embed(texts: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<ReadonlyArray<number>>, ProviderError>
}

/** Embeddings by any configured vendor. */
export class Embeddings extends Context.Service<
  Embeddings,
  {
    /** Finds the model that a selector names, filling what it leaves out from configuration. */
    resolve(selector: EmbeddingModelSelector | undefined): Effect.Effect<EmbeddingModel, ProviderError>
  }
>()("sluice/providers/Embeddings") {}
