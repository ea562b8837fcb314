import { spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../../src/store/Database.ts"

const WRITER = fileURLToPath(new URL("./writeRows.ts", import.meta.url))
const ROUNDS = 3
const ROWS_PER_ROUND = 60

/** Lets another process write into this data directory, kills it in the middle, and answers what it had acknowledged. */
const writeUntilKilled = (directory: string) =>
  new Promise<ReadonlyArray<number>>((resolve, reject) => {
    const child = spawn(process.execPath, [WRITER], {
      env: { SLUICE_DATA_DIR: directory },
      stdio: ["ignore", "pipe", "inherit"]
    })
    let said = ""
    child.stdout.on("data", (bytes: Buffer) => {
      said += bytes.toString()
      if (said.split("\n").length > ROWS_PER_ROUND) child.kill("SIGKILL")
    })
    child.once("error", reject)
    child.once("close", () => resolve(said.split("\n").slice(0, -1).map(Number)))
  })

const layerOf = (directory: string) =>
  Database.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ SLUICE_DATA_DIR: directory }))))

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "sluice-durability-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

describe("The embedded database after kill -9", () => {
  it.effect("starts, when it was killed while it was created", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      mkdirSync(join(directory, "database"))
      writeFileSync(join(directory, "database", "PG_VERSION"), "18\n")
      yield* Effect.provide(
        Effect.flatMap(Database, ({ check }) => check),
        layerOf(directory)
      )
      assert.isTrue(existsSync(join(directory, "database.incomplete", "PG_VERSION")))
    })
  )

  it.effect(
    "has every acknowledged transaction, and each one as a whole",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const acknowledged: Array<number> = []
        for (let round = 0; round < ROUNDS; round++) {
          acknowledged.push(...(yield* Effect.promise(() => writeUntilKilled(directory))))
        }
        const rows = yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          return yield* sql<{ number: number; parts: number }>`
            SELECT number, count(*) AS parts FROM kept GROUP BY number`
        }).pipe(Effect.provide(layerOf(directory)))
        const kept = new Map(rows.map((row) => [row.number, row.parts]))
        assert.isAtLeast(acknowledged.length, ROUNDS * ROWS_PER_ROUND)
        assert.deepStrictEqual(
          acknowledged.filter((number) => !kept.has(number)),
          []
        )
        assert.isTrue([...kept.values()].every((parts) => parts === 3))
      }),
    60_000
  )
})
