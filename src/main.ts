import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Config, ConfigProvider, Effect, Exit, FileSystem, Layer, Schema, SchemaIssue } from "effect"
import { CliError, Command } from "effect/cli"
import packageJson from "../package.json" with { type: "json" }
import { commands } from "./cli/Commands.ts"
import { Logging } from "./Logging.ts"

/**
 * What a command needs is loaded when it is to run: the commands that ask a server start in a fraction of the time. The
 * database starts, in a thread or a process of its own, while the rest of the server is loaded.
 */
const database = Effect.flatMap(
  Effect.promise(() => import("./store/Database.ts")),
  ({ Database }) => Layer.build(Database.layer)
)

const serve = Effect.scoped(
  Effect.flatMap(
    Effect.all([database, Effect.promise(() => import("./Server.ts"))], { concurrency: "unbounded" }),
    ([services, server]) => Effect.provide(server.serve, services)
  )
)

const migrate = Effect.andThen(Effect.scoped(database), Effect.logInfo("The database is up to date"))

const sluice = Command.make("sluice", {}, () => serve).pipe(
  Command.withDescription("A self-hosted AI gateway. Without a command it serves."),
  Command.withSubcommands([
    Command.make("serve", {}, () => serve).pipe(Command.withDescription("Serve REST and GraphQL (the default).")),
    Command.make("migrate", {}, () => migrate).pipe(Command.withDescription("Bring the database up to date and exit.")),
    ...commands
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
  if (!(error instanceof Error)) return String(error)
  // An address that cannot be listened on says so in its cause.
  return error.message === "" && error.cause instanceof Error ? error.cause.message : error.message
}

/** A start that fails says why in one line. */
const reportFailure = (cause: Cause.Cause<unknown>) =>
  Effect.sync(() => {
    const error = Cause.squash(cause)
    // What is wrong with the command line itself stands under its help already.
    if (!CliError.isCliError(error)) process.stderr.write(`sluice: ${messageOf(error)}\n`)
  })

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
