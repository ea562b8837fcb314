import { createServer } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { Config, Effect, Layer } from "effect"
import { answerUnreadable } from "./Unreadable.ts"

const DRAIN_TIMEOUT = "20 seconds"

export const listenAddress = Config.all({
  host: Config.String("HOST").pipe(Config.withDefault("127.0.0.1")),
  port: Config.Port("PORT").pipe(Config.withDefault(4000))
})

/** Hosts are checked by `Exchange`, whose answer has a body. */
export const makeServer = () =>
  answerUnreadable(createServer({ requestTimeout: 60_000, headersTimeout: 20_000, requireHostHeader: false }))

/** Node's HTTP server: drains on shutdown, and cuts clients that send too slowly. */
export const HttpServerLive = Layer.unwrap(
  Effect.map(listenAddress, (address) =>
    NodeHttpServer.layer(makeServer, {
      ...address,
      gracefulShutdownTimeout: DRAIN_TIMEOUT
    })
  )
)
