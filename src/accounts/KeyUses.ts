import { Clock, Effect, Schedule } from "effect"
import type { KeyId } from "../domain/Ids.ts"
import { KeyStore } from "../store/KeyStore.ts"

const WRITE_EVERY = "1 minute"
/** A process that ends does not wait long for a database that is away: the note is a convenience. */
const LAST_WRITE_TIMEOUT = "2 seconds"

/**
 * Remembers when keys are used and writes it down once a minute, all keys at once, and when the process ends. The
 * function that it answers only puts a time into memory.
 */
export const trackKeyUses = Effect.gen(function* () {
  const store = yield* KeyStore
  const usedAt = new Map<KeyId, number>()

  const write = Effect.gen(function* () {
    if (usedAt.size === 0) return
    const now = yield* Clock.currentTimeMillis
    const written = [...usedAt]
    yield* store.noteUse(written.map(([id, at]) => ({ id, agoMs: now - at })))
    for (const [id, at] of written) if (usedAt.get(id) === at) usedAt.delete(id)
  }).pipe(
    Effect.catchTag("StoreUnavailable", ({ cause }) =>
      Effect.logWarning("Noting when keys were used: database unavailable", cause)
    )
  )

  yield* Effect.addFinalizer(() => Effect.timeoutOption(write, LAST_WRITE_TIMEOUT))
  yield* Effect.sleep(WRITE_EVERY).pipe(Effect.andThen(write), Effect.repeat(Schedule.forever), Effect.forkScoped)

  return (id: KeyId): Effect.Effect<void> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      usedAt.set(id, now)
    })
})
