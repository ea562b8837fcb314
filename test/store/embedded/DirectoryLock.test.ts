import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { lockDirectory } from "../../../src/store/embedded/DirectoryLock.ts"

const HOLDER = fileURLToPath(new URL("./holdLock.ts", import.meta.url))

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => join(mkdtempSync(join(tmpdir(), "sluice-lock-")), "data")),
  (directory) => Effect.sync(() => rmSync(join(directory, ".."), { recursive: true, force: true }))
)

/** Another process that holds the lock; answers what it said and how to kill it. */
const hold = (directory: string) =>
  Effect.promise(
    () =>
      new Promise<{ readonly said: string; readonly kill: () => Promise<void> }>((resolve) => {
        const child = spawn(process.execPath, [HOLDER, directory], { stdio: ["ignore", "pipe", "pipe"] })
        const exited = new Promise<void>((done) => child.once("exit", () => done()))
        const kill = () => {
          child.kill("SIGKILL")
          return exited
        }
        const answer = (said: Buffer) => resolve({ said: said.toString(), kill })
        child.stdout.once("data", answer)
        child.stderr.once("data", answer)
      })
  )

describe("The lock of the data directory", () => {
  it.effect("refuses a second process with one line, until the first is gone, even by kill -9", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const other = yield* hold(directory)
      assert.strictEqual(other.said, "locked\n")
      const error = yield* Effect.flip(lockDirectory(directory))
      assert.match(
        error.message,
        /^The data directory \S+ is in use by another process: stop that one, or set SLUICE_DATA_DIR[^\n]+$/
      )
      yield* Effect.promise(other.kill)
      yield* lockDirectory(directory)
    })
  )

  it.effect("holds within one process too, and ends with its scope", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* lockDirectory(directory)
          yield* Effect.flip(lockDirectory(directory))
        })
      )
      yield* lockDirectory(directory)
    })
  )

  it.effect("makes the directory for its owner alone", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      yield* lockDirectory(directory)
      assert.strictEqual(statSync(directory).mode & 0o777, 0o700)
    })
  )

  it.effect("says in one line what is wrong with a directory that cannot be used", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(lockDirectory("/dev/null/data"))
      assert.match(error.message, /^The data directory \/dev\/null\/data cannot be used: [^\n]+$/)
    })
  )
})
