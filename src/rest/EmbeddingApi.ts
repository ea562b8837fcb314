import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { EmbedRequest, EmbedResult } from "../domain/Embed.ts"
import { success } from "./Envelope.ts"

export class EmbeddingApi extends HttpApiGroup.make("embedding", { topLevel: true })
  .add(
    HttpApiEndpoint.post("embed", "/v1/embed", {
      payload: EmbedRequest,
      success: success(EmbedResult)
    }).annotateMerge(OpenApi.annotations({ summary: "Create embeddings", description: "0.5 credits per request." }))
  )
  .annotateMerge(OpenApi.annotations({ title: "Embedding" })) {}
