import { Config, Effect, Layer, Logger, References } from "effect"

/** Log lines on stderr: for a person on a terminal, one JSON object each otherwise. `SLUICE_LOG_LEVEL` filters them. */
export const Logging = Layer.unwrap(
  Effect.gen(function* () {
    const level = yield* Config.LogLevel("SLUICE_LOG_LEVEL").pipe(Config.withDefault("Info"))
    const logger = process.stderr.isTTY ? Logger.consolePretty() : Logger.withConsoleError(Logger.formatJson)
    return Layer.mergeAll(
      Logger.layer([logger]),
      Layer.succeed(Logger.LogToStderr, true),
      Layer.succeed(References.MinimumLogLevel, level)
    )
  })
)
