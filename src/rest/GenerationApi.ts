import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { GenerateRequest, GenerateResult } from "../domain/Generate.ts"
import { success } from "./Envelope.ts"

export class GenerationApi extends HttpApiGroup.make("generation", { topLevel: true })
  .add(
    HttpApiEndpoint.post("generate", "/v1/generate", {
      payload: GenerateRequest,
      success: success(GenerateResult)
    }).annotateMerge(OpenApi.annotations({ summary: "Generate text", description: "0.5 credits per 1,000 tokens." }))
  )
  .annotateMerge(OpenApi.annotations({ title: "Generation" })) {}
