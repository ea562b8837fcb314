import { Effect } from "effect"
import { lockDirectory } from "../../../src/store/embedded/DirectoryLock.ts"

// A fiber that waits for ever does not keep Node from ending.
setInterval(() => {}, 60_000)

/** Holds the lock of the directory in its first argument until it is killed. */
await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      yield* lockDirectory(process.argv[2]!)
      process.stdout.write("locked\n")
      yield* Effect.never
    })
  )
)
