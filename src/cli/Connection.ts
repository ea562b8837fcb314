import { Config, Effect, FileSystem, Option, Path, Redacted, Schema } from "effect"
import { Flag } from "effect/cli"
import { dataDirectory } from "../store/DataDirectory.ts"

/** A command could not do what it was asked for; `message` is one line for the terminal. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String
}) {}

/** Which server a command asks, with which key, and how it prints the answer. Every command has these. */
export const connectionFlags = {
  url: Flag.String("url").pipe(
    Flag.withDescription("Address of the server (SLUICE_URL, otherwise http://127.0.0.1:4000)"),
    Flag.optional
  ),
  key: Flag.Redacted("key").pipe(
    Flag.withDescription("API key (SLUICE_KEY, otherwise the one in <data dir>/api-key)"),
    Flag.optional
  ),
  json: Flag.Boolean("json").pipe(Flag.withDescription("Print JSON"), Flag.withDefault(false))
}

export interface ConnectionFlags {
  readonly url: Option.Option<string>
  readonly key: Option.Option<Redacted.Redacted<string>>
  readonly json: boolean
}

export interface Connection {
  /** Without a slash at the end. */
  readonly url: string
  readonly key: Redacted.Redacted<string>
}

const keyFromFile = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(yield* dataDirectory, "api-key")
  return yield* fs.readFileString(file).pipe(
    Effect.map((text) => Redacted.make(text.trim())),
    Effect.mapError(
      () => new CommandFailed({ message: `No API key: give --key or SLUICE_KEY; there is none in ${file}` })
    )
  )
})

/** What is not said by a flag comes from the environment, then from where a local server keeps it. */
export const resolveConnection = Effect.fnUntraced(function* ({ key, url }: ConnectionFlags) {
  const configured = Config.String("SLUICE_URL").pipe(Config.withDefault("http://127.0.0.1:4000"))
  const address = Option.isSome(url) ? url.value : yield* configured
  if (!/^https?:\/\//.test(address) || !URL.canParse(address)) {
    return yield* new CommandFailed({ message: `Not an http address: ${address}` })
  }
  const given = Option.isSome(key) ? key : yield* Config.option(Config.Redacted("SLUICE_KEY"))
  return {
    url: address.replace(/\/+$/, ""),
    key: Option.isSome(given) ? given.value : yield* keyFromFile
  } satisfies Connection
})
