import { Config, Effect, Layer, Schema } from "effect"
import { HttpRouter } from "effect/http"

const origins = Config.Array(Schema.String, "SLUICE_CORS_ORIGINS").pipe(Config.withDefault([]))

/** Lets pages of the configured origins (`SLUICE_CORS_ORIGINS`, separated by commas) call the gateway; off without any. */
export const Cors = Layer.unwrap(
  Effect.map(origins, (allowedOrigins) =>
    allowedOrigins.length === 0
      ? Layer.empty
      : HttpRouter.cors({
          allowedOrigins,
          allowedMethods: ["GET", "POST"],
          allowedHeaders: ["authorization", "content-type", "idempotency-key", "request-timeout", "x-request-id"],
          exposedHeaders: ["idempotent-replayed", "ratelimit", "ratelimit-policy", "retry-after", "x-request-id"],
          maxAge: 3600
        })
  )
)
