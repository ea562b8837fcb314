import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { readFile, rename, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Config, Effect, Layer, Logger, Option } from "effect"
import type { TestProject } from "vitest/node"
import { layerFrom } from "../../src/store/Database.ts"
import { makeEmbeddedClient, startEmbedded } from "../../src/store/embedded/EmbeddedDatabase.ts"
import { readMigrations } from "../../src/store/Migrations.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** The path of a tar of an embedded database that is migrated and empty. */
    databaseSnapshot: string
    /** A Postgres server to make test databases on, if there is one. */
    testDatabaseUrl: string | undefined
  }
}

const LOCK_FILE = fileURLToPath(new URL("../../package-lock.json", import.meta.url))

/** Names the snapshot after all that it is made from, so that it is made once until something of that changes. */
const snapshotFile = Effect.gen(function* () {
  const hash = createHash("sha256").update(yield* Effect.promise(() => readFile(LOCK_FILE)))
  for (const { checksum } of yield* readMigrations()) hash.update(checksum)
  return join(tmpdir(), `sluice-test-database-${hash.digest("hex").slice(0, 16)}.tar`)
})

const makeSnapshot = Effect.fnUntraced(function* (file: string) {
  const multiplexer = yield* startEmbedded({})
  yield* Layer.build(layerFrom("embedded", makeEmbeddedClient(multiplexer)))
  yield* Effect.promise(async () => {
    const unfinished = `${file}.${process.pid}`
    await writeFile(unfinished, await multiplexer.snapshot())
    await rename(unfinished, file)
  })
}, Effect.scoped)

const setup = Effect.gen(function* () {
  const file = yield* snapshotFile
  if (!existsSync(file)) yield* makeSnapshot(file)
  const url = yield* Config.option(Config.String("TEST_DATABASE_URL"))
  return { file, url: Option.getOrUndefined(url) }
}).pipe(Effect.provide(Logger.layer([])))

/** Makes, once per change of the schema, the database that every test file starts from. */
export default async function databaseSnapshot(project: TestProject) {
  const { file, url } = await Effect.runPromise(setup)
  project.provide("databaseSnapshot", file)
  project.provide("testDatabaseUrl", url)
}
