import { createServer } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { Config, Effect, Layer } from "effect"

const DRAIN_TIMEOUT = "20 seconds"

export const listenAddress = Config.all({
  host: Config.String("HOST").pipe(Config.withDefault("127.0.0.1")),
  port: Config.Port("PORT").pipe(Config.withDefault(4000))
})

/** Node's HTTP server: drains on shutdown, and cuts clients that send too slowly. */
export const HttpServerLive = Layer.unwrap(
  Effect.map(listenAddress, (address) =>
    NodeHttpServer.layer(() => createServer({ requestTimeout: 60_000, headersTimeout: 20_000 }), {
      ...address,
      gracefulShutdownTimeout: DRAIN_TIMEOUT
    })
  )
)
