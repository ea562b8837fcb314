import { Context, Effect, Layer, type Option } from "effect"
import { SqlClient } from "effect/sql"
import type { KeyId, OrganizationId } from "../domain/Ids.ts"
import { DatabaseClock } from "./Database.ts"
import type {
  KeyActor,
  KeyBounds,
  KeyDetails,
  KeyRecord,
  KeyRefused,
  KeySuccession,
  KeyUse,
  WorkingKey
} from "./keys/KeyRecord.ts"
import { makeMemoryKeys } from "./keys/MemoryKeys.ts"
import { makeSqlKeys } from "./keys/SqlKeys.ts"
import type { StoreUnavailable } from "./StoreUnavailable.ts"

export {
  type KeyActor,
  type KeyBounds,
  type KeyDetails,
  type KeyRecord,
  KeyRefused,
  type WorkingKey
} from "./keys/KeyRecord.ts"

type Changed<A> = Effect.Effect<A, KeyRefused | StoreUnavailable>

/** API keys of all organizations. Changes within an organization happen one after the other. */
export class KeyStore extends Context.Service<
  KeyStore,
  {
    /** The key of that id, unless it is expired or revoked. */
    find(id: KeyId): Effect.Effect<Option.Option<WorkingKey>, StoreUnavailable>
    /** Stores a key that works for ever; one of the same id is replaced, whatever became of it. */
    put(key: KeyRecord): Effect.Effect<void, StoreUnavailable>
    details(id: KeyId): Effect.Effect<Option.Option<KeyDetails>, StoreUnavailable>
    list(organization: OrganizationId): Effect.Effect<ReadonlyArray<KeyDetails>, StoreUnavailable>
    create(key: KeyRecord, bounds: KeyBounds, actor: KeyActor): Changed<KeyDetails>
    /**
     * Stores `key` as the successor of the key `from`, which goes on working for `overlapSeconds`, but not beyond its own
     * expiry. The successor has the limit of `from` and, without `expiresAt`, ends when `from` would have.
     */
    rotate(from: KeyId, key: KeyRecord, succession: KeySuccession, actor: KeyActor): Changed<KeyDetails>
    /**
     * Ends a key now; one that was revoked before stays as it is. A key does not revoke itself when it is the last one
     * that could manage its organization's keys.
     */
    revoke(key: Pick<KeyRecord, "id" | "organizationId">, actor: KeyActor): Changed<KeyDetails>
    /** Notes when keys were used; of a key that has such a note from the last minute nothing is written. */
    noteUse(uses: ReadonlyArray<KeyUse>): Effect.Effect<void, StoreUnavailable>
  }
>()("sluice/store/KeyStore") {
  static readonly layer = Layer.effect(
    KeyStore,
    Effect.gen(function* () {
      return KeyStore.of(makeSqlKeys(yield* SqlClient.SqlClient, yield* DatabaseClock))
    })
  )

  static readonly layerMemory = Layer.effect(KeyStore, Effect.map(makeMemoryKeys, KeyStore.of))
}
