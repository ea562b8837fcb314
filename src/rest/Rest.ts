import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiScalar } from "effect/http-api"
import { ready } from "../operations/Readiness.ts"
import { Api } from "./Api.ts"
import { Cors } from "./Cors.ts"
import { withErrorResponse } from "./ErrorResponse.ts"
import { Exchange } from "./Exchange.ts"
import { Handlers } from "./Handlers.ts"
import { MiddlewareLive } from "./MiddlewareLive.ts"

const V1 = HttpApiBuilder.layer(Api, { openapiPath: "/openapi.json" }).pipe(
  Layer.provide(Handlers),
  Layer.provide(MiddlewareLive)
)

// The page loads nothing from elsewhere.
const Docs = HttpApiScalar.layer(Api, { path: "/docs", scalar: { withDefaultFonts: false } })

/** `/healthz` says that the process lives, `/readyz` that it can serve. */
const Probes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    yield* router.add("GET", "/healthz", HttpServerResponse.jsonUnsafe({ status: "alive" }))
    yield* router.add(
      "GET",
      "/readyz",
      withErrorResponse(Effect.as(ready, HttpServerResponse.jsonUnsafe({ status: "ready" })))
    )
  })
)

/** Everything that is served beside GraphQL, and what holds for every exchange. */
export const Rest = Layer.mergeAll(V1, Docs, Probes, Cors, Exchange)
