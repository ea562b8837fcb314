import { createServer } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { ByteSize, Config, Effect, Layer } from "effect"
import { HttpIncomingMessage } from "effect/http"

const DRAIN_TIMEOUT = "20 seconds"

export const listenAddress = Config.all({
  host: Config.String("HOST").pipe(Config.withDefault("127.0.0.1")),
  port: Config.Port("PORT").pipe(Config.withDefault(4000))
})

/** Node's HTTP server: drains on shutdown, and bounds what a client may send. */
export const HttpServerLive = Layer.unwrap(
  Effect.map(listenAddress, (address) =>
    NodeHttpServer.layer(() => createServer({ requestTimeout: 60_000, headersTimeout: 20_000 }), {
      ...address,
      gracefulShutdownTimeout: DRAIN_TIMEOUT
    })
  )
)

/** The largest body that is read, chunked bodies too. */
export const BodyLimit = Layer.effect(
  HttpIncomingMessage.MaxBodySize,
  Config.ByteSize("SLUICE_MAX_BODY_SIZE").pipe(Config.withDefault(ByteSize.mebibytes(10)))
)
