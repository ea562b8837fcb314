import type { Effect, Redacted } from "effect"
import type { GenerateCall, Generation } from "./LanguageModels.ts"
import type { ProviderError } from "./ProviderError.ts"

/** Where a vendor is reached, and as whom. */
export interface Endpoint {
  readonly provider: string
  /** Without a slash at the end. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
}

/** Answers one call with the named model: one attempt, which stops the vendor's work when it is interrupted. */
export type Generate = (model: string, call: GenerateCall) => Effect.Effect<Generation, ProviderError>

export interface EmbedCall {
  readonly model: string
  readonly texts: ReadonlyArray<string>
  /** Asks for vectors of this length; absent for the model's own. */
  readonly dimensions?: number
}

/** Turns the texts of one batch into vectors, in input order: one attempt, as above. */
export type Embed = (call: EmbedCall) => Effect.Effect<ReadonlyArray<ReadonlyArray<number>>, ProviderError>

/** Vector lengths that an embedding model can make. */
export interface VectorLengths {
  readonly default: number
  readonly min: number
  readonly max: number
}

export interface GenerationRow {
  /** How the vendor is spoken to. Runs once, at the start, for vendors that are configured; it loads the vendor's SDK. */
  readonly connect: (endpoint: Endpoint) => Effect.Effect<Generate>
  readonly defaultModel: string
  /** All models that there are; absent where the vendor may have more than are known here. */
  readonly models?: ReadonlyArray<string>
  readonly defaultMaxTokens: number
  readonly maxOutputTokens: number
}

export interface EmbeddingRow {
  readonly connect: (endpoint: Endpoint) => Effect.Effect<Embed>
  readonly defaultModel: string
  readonly known: ReadonlyMap<string, VectorLengths>
  /** Whether `known` are all models that there are. */
  readonly isClosed: boolean
  /** What one request to the vendor may carry at most. */
  readonly batch: { readonly texts: number; readonly bytes: number }
}

/** A vendor: a row of the table in `Vendors.ts`. */
export interface Vendor {
  readonly id: string
  /** Absent for what runs in this process and needs no key. */
  readonly access?: {
    readonly baseUrl: string
    /** Names of the settings with the key and with another base URL. */
    readonly keyVariable: string
    readonly baseUrlVariable: string
  }
  readonly generation?: GenerationRow
  readonly embedding?: EmbeddingRow
}
