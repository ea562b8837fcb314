import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { DatabaseNotStarted, reasonOf } from "../DatabaseNotStarted.ts"

const SQLITE_BUSY = 5

/**
 * Takes `<directory>/lock` for this process. SQLite's exclusive lock is a lock of the operating system, which Node has
 * no other way to take: it goes with the process, however that ends.
 */
const lock = (directory: string): DatabaseSync => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const file = new DatabaseSync(join(directory, "lock"), { timeout: 0 })
  try {
    file.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")
  } catch (cause) {
    file.close()
    throw cause
  }
  return file
}

const isBusy = (cause: unknown): boolean =>
  cause instanceof Error && "errcode" in cause && cause.errcode === SQLITE_BUSY

/** Keeps a data directory (created with mode 0700) to this process until the scope ends. */
export const lockDirectory = (directory: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => lock(directory),
      catch: (cause) =>
        new DatabaseNotStarted({
          message: isBusy(cause)
            ? `The data directory ${directory} is in use by another process: stop that one, or set SLUICE_DATA_DIR to a directory of its own.`
            : `The data directory ${directory} cannot be used: ${reasonOf(cause)}.`,
          cause
        })
    }),
    (file) => Effect.sync(() => file.close())
  )
