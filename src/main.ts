import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Config, ConfigProvider, Effect, Exit, FileSystem, Layer, Schema, SchemaIssue } from "effect"
import { Command } from "effect/cli"
import packageJson from "../package.json" with { type: "json" }
import { firstStart } from "./accounts/FirstStart.ts"
import { Logging } from "./Logging.ts"
import { HttpServerLive } from "./rest/HttpServer.ts"
import { Server, Services } from "./Server.ts"
import { Database } from "./store/Database.ts"
import { welcome } from "./Welcome.ts"

/** Prepares an empty installation before the first call can arrive, then serves and tells where. */
const serve = Effect.flatMap(firstStart, (keyFile) =>
  Layer.launch(Layer.effectDiscard(welcome(keyFile)).pipe(Layer.provide(Server), Layer.provide(HttpServerLive)))
).pipe(Effect.provide(Services), Effect.provide(Database.layer))

const migrate = Effect.andThen(Effect.scoped(Layer.build(Database.layer)), Effect.logInfo("The database is up to date"))

const sluice = Command.make("sluice", {}, () => serve).pipe(
  Command.withDescription("A self-hosted AI gateway. Without a command it serves."),
  Command.withSubcommands([
    Command.make("serve", {}, () => serve).pipe(Command.withDescription("Serve REST and GraphQL (the default).")),
    Command.make("migrate", {}, () => migrate).pipe(Command.withDescription("Bring the database up to date and exit."))
  ])
)

/** Settings come from the environment, then from `.env` if there is one. */
const Settings = Layer.unwrap(
  Effect.map(
    Effect.flatMap(FileSystem.FileSystem, (fs) => fs.exists(".env")),
    (exists) => (exists ? ConfigProvider.layerAdd(ConfigProvider.fromDotEnv()) : Layer.empty)
  )
)

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** `PORT: Expected a port`, for a setting that does not fit. */
const settingProblem = ({ issue }: Schema.SchemaError): string =>
  formatIssue(issue)
    .issues.map(({ message, path = [] }) => `${path.map(String).join(".")}: ${message}`)
    .join("; ")

const messageOf = (error: unknown): string => {
  if (error instanceof Config.ConfigError && Schema.isSchemaError(error.cause)) return settingProblem(error.cause)
  return error instanceof Error ? error.message : String(error)
}

/** A start that fails says why in one line. */
const reportFailure = (cause: Cause.Cause<unknown>) =>
  Effect.sync(() => process.stderr.write(`sluice: ${messageOf(Cause.squash(cause))}\n`))

sluice.pipe(
  Command.run({ version: packageJson.version }),
  Effect.provide(Logging),
  Effect.provide(Settings),
  Effect.provide(NodeServices.layer),
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : reportFailure(cause))),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    // Being told to stop, and having drained, is a success.
    teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
  })
)
