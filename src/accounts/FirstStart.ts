import { Config, Effect, FileSystem, Option, Path, Redacted, Schema } from "effect"
import { ALL_SCOPES } from "../domain/Account.ts"
import { OrganizationId } from "../domain/Ids.ts"
import { dataDirectory } from "../store/DataDirectory.ts"
import { KeyStore } from "../store/KeyStore.ts"
import { OrganizationStore } from "../store/OrganizationStore.ts"
import * as ApiKey from "./ApiKey.ts"
import { InstallationSecret } from "./InstallationSecret.ts"
import { startingMicro } from "./Organizations.ts"

/** `SLUICE_BOOTSTRAP_KEY` is no key. */
export class BootstrapKeyInvalid extends Schema.TaggedError<BootstrapKeyInvalid>()("BootstrapKeyInvalid", {
  message: Schema.String
}) {}

const ORGANIZATION = { id: OrganizationId.make("default"), name: "default" }

const keyRecord = Effect.fnUntraced(function* (key: Redacted.Redacted<string>) {
  const pepper = yield* InstallationSecret
  const id = ApiKey.keyId(key)
  if (Option.isNone(id)) {
    return yield* new BootstrapKeyInvalid({
      message: "SLUICE_BOOTSTRAP_KEY must have 16 to 255 visible ASCII characters, or be a whole `sl_...` key."
    })
  }
  return { id: id.value, name: "bootstrap", secretHmac: ApiKey.hmac(key, pepper), scopes: ALL_SCOPES }
})

/** The chosen key counts from this start on, also on a database that knew another one. */
const useChosenKey = Effect.fnUntraced(function* (key: Redacted.Redacted<string>, grantedMicro: number) {
  const organizations = yield* OrganizationStore
  const record = yield* keyRecord(key)
  const created = yield* organizations.create({ ...ORGANIZATION, grantedMicro, key: record })
  if (!created) yield* (yield* KeyStore).put({ ...record, organizationId: ORGANIZATION.id })
})

/**
 * Makes a key, once. The file is written before the database knows the key: a crash in between is mended by the next
 * start, which finds the file and uses it.
 */
const useOwnKey = Effect.fnUntraced(function* (file: string, grantedMicro: number) {
  const fs = yield* FileSystem.FileSystem
  const organizations = yield* OrganizationStore
  const known = yield* fs.exists(file)
  const key = known ? Redacted.make((yield* fs.readFileString(file)).trim()) : ApiKey.generate()
  if (!known) yield* fs.writeFileString(file, `${Redacted.value(key)}\n`, { mode: 0o600, flag: "wx" })
  const created = yield* organizations.create({ ...ORGANIZATION, grantedMicro, key: yield* keyRecord(key) })
  if (created || known) return Option.some(file)
  // Another process made the organization, and so the key.
  yield* fs.remove(file)
  return Option.none()
})

/**
 * Gives an empty database its first organization, credits and key. Answers the file that holds the key, if this
 * machine has it.
 */
export const firstStart = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const directory = path.resolve(yield* dataDirectory)
  const grantedMicro = yield* startingMicro
  const chosen = yield* Config.option(Config.Redacted("SLUICE_BOOTSTRAP_KEY"))
  if (Option.isSome(chosen)) return yield* Effect.as(useChosenKey(chosen.value, grantedMicro), Option.none<string>())
  yield* fs.makeDirectory(directory, { recursive: true, mode: 0o700 })
  return yield* useOwnKey(path.join(directory, "api-key"), grantedMicro)
})
