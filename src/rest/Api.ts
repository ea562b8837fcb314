import { HttpApi, OpenApi } from "effect/http-api"
import packageJson from "../../package.json" with { type: "json" }
import { CollectionApi } from "./CollectionApi.ts"
import { EmbeddingApi } from "./EmbeddingApi.ts"
import { GenerationApi } from "./GenerationApi.ts"
import { Authorization, ErrorEnvelope, RequestRules } from "./Middleware.ts"
import { StatusApi } from "./StatusApi.ts"

/**
 * The contract of `/v1`, without a line of server: a client can be derived from it. Of the middleware the last is the
 * outermost: whatever fails is enveloped, an unknown caller learns nothing about the request.
 */
export class Api extends HttpApi.make("sluice")
  .add(StatusApi, GenerationApi, EmbeddingApi, CollectionApi)
  .middleware(RequestRules)
  .middleware(Authorization)
  .middleware(ErrorEnvelope)
  // All problems of a request are reported, not the first one only.
  .annotate(HttpApi.PayloadParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Sluice",
      version: packageJson.version,
      description: "A self-hosted AI gateway: one key, one credit pool and one error contract.",
      license: { name: "MIT" }
    })
  ) {}
