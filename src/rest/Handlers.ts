import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { embed } from "../operations/Embed.ts"
import { generate } from "../operations/Generate.ts"
import { index } from "../operations/Index.ts"
import { search } from "../operations/Search.ts"
import { status } from "../operations/Status.ts"
import { Api } from "./Api.ts"
import { enveloped } from "./Envelope.ts"

const StatusHandlers = HttpApiBuilder.group(Api, "status", (handlers) => handlers.handle("status", () => status()))

const GenerationHandlers = HttpApiBuilder.group(Api, "generation", (handlers) =>
  handlers.handle("generate", ({ payload }) => enveloped(generate(payload)))
)

const EmbeddingHandlers = HttpApiBuilder.group(Api, "embedding", (handlers) =>
  handlers.handle("embed", ({ payload }) => enveloped(embed(payload)))
)

const CollectionHandlers = HttpApiBuilder.group(Api, "collection", (handlers) =>
  handlers
    .handle("index", ({ payload }) => enveloped(index(payload)))
    .handle("search", ({ payload }) => enveloped(search(payload)))
)

/** Every endpoint of the contract, each calling its operation. */
export const Handlers = Layer.mergeAll(StatusHandlers, GenerationHandlers, EmbeddingHandlers, CollectionHandlers)
