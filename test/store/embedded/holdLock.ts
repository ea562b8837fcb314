import { Effect } from "effect"
import { lockDirectory } from "../../../src/store/embedded/DirectoryLock.ts"

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
