import { Predicate } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import packageJson from "../../package.json" with { type: "json" }
import { CollectionApi } from "./CollectionApi.ts"
import { EmbeddingApi } from "./EmbeddingApi.ts"
import { GenerationApi } from "./GenerationApi.ts"
import { Authorization, ErrorEnvelope, RequestRules } from "./Middleware.ts"
import { StatusApi } from "./StatusApi.ts"

/** Readers are tolerant: unknown properties are ignored, so the document must not forbid them. */
const allowUnknownProperties = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(allowUnknownProperties)
  if (!Predicate.isObject(node)) return node
  return Object.fromEntries(
    Object.entries(node)
      .filter(([key, value]) => !(key === "additionalProperties" && value === false))
      .map(([key, value]) => [key, allowUnknownProperties(value)])
  )
}

/**
 * The contract of `/v1`, without a line of server: a client can be derived from it. Of the middleware the last is the
 * outermost: whatever fails is enveloped, an unknown caller learns nothing about the request.
 */
export class Api extends HttpApi.make("sluice")
  .add(StatusApi, GenerationApi, EmbeddingApi, CollectionApi)
  .middleware(RequestRules)
  .middleware(Authorization)
  .middleware(ErrorEnvelope)
  .annotateMerge(
    OpenApi.annotations({
      title: "Sluice",
      version: packageJson.version,
      description: "A self-hosted AI gateway: one key, one credit pool and one error contract.",
      license: { name: "MIT" },
      transform: (document) => allowUnknownProperties(document) as typeof document
    })
  ) {}
