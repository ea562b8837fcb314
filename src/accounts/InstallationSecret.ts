import { randomBytes } from "node:crypto"
import { Config, Context, Effect, FileSystem, Layer, Option, Path, Redacted, Schema } from "effect"

import { dataDirectory } from "../store/DataDirectory.ts"

/** The installation has no secret that its processes could share. */
export class SecretMissing extends Schema.TaggedError<SecretMissing>()("SecretMissing", {
  message: Schema.String
}) {}

const MIN_LENGTH = 16

const readConfig = Effect.gen(function* () {
  const secret = yield* Config.option(Config.Redacted("SLUICE_SECRET"))
  if (Option.isSome(secret) && Redacted.value(secret.value).length < MIN_LENGTH) {
    return yield* new SecretMissing({ message: `SLUICE_SECRET must have at least ${MIN_LENGTH} characters.` })
  }
  return secret
})

/** One process alone on its embedded database may make its own secret and keep it beside the data. */
const readOrMakeFile = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const directory = yield* dataDirectory
  const file = path.join(directory, "secret")
  if (yield* fs.exists(file)) return (yield* fs.readFileString(file)).trim()
  const secret = randomBytes(32).toString("base64url")
  yield* fs.makeDirectory(directory, { recursive: true, mode: 0o700 })
  yield* fs.writeFileString(file, secret, { mode: 0o600, flag: "wx" })
  return secret
})

/**
 * The secret of this installation (`SLUICE_SECRET`): pepper of the stored keys. All replicas must share it, so it is
 * required with `DATABASE_URL`; with the embedded database it is made at the first start and kept in
 * `<data dir>/secret`.
 */
export class InstallationSecret extends Context.Service<InstallationSecret, Redacted.Redacted<Uint8Array>>()(
  "sluice/accounts/InstallationSecret"
) {
  static readonly layer = Layer.effect(
    InstallationSecret,
    Effect.gen(function* () {
      const configured = yield* readConfig
      if (Option.isSome(configured)) return Redacted.make(Buffer.from(Redacted.value(configured.value), "utf8"))
      const databaseUrl = yield* Config.option(Config.Redacted("DATABASE_URL"))
      if (Option.isSome(databaseUrl)) {
        return yield* new SecretMissing({
          message:
            "SLUICE_SECRET is required with DATABASE_URL: set one secret for all replicas, e.g. `openssl rand -hex 32`."
        })
      }
      return Redacted.make(Buffer.from(yield* readOrMakeFile, "utf8"))
    })
  )
}
