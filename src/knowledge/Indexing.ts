import { Context, type Effect } from "effect"
import type { Document } from "../domain/Collection.ts"
import type { OrganizationId } from "../domain/Ids.ts"
import type { EmbeddingModelSelector } from "../domain/Model.ts"
import type { ProviderError } from "../providers/ProviderError.ts"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"
import type { EmbeddingMismatch } from "../store/VectorStore.ts"

/** Puts documents into a collection: chunks, embeds and stores them, all or nothing. */
export class Indexing extends Context.Service<
  Indexing,
  {
    index(
      organization: OrganizationId,
      request: {
        readonly collection: string
        readonly documents: ReadonlyArray<Document>
        readonly model: EmbeddingModelSelector | undefined
      }
    ): Effect.Effect<{ readonly chunksCreated: number }, EmbeddingMismatch | ProviderError | StoreUnavailable>
  }
>()("sluice/knowledge/Indexing") {}
