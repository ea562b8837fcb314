import { Context, type Duration, Effect, Layer, type Option } from "effect"
import type { Idempotency } from "../domain/Idempotency.ts"
import type { KeyId, OperationId, OrganizationId } from "../domain/Ids.ts"
import type { RateLimitState, RateLimits } from "../domain/RateLimit.ts"
import type { Batch, BatchAnswer, Terms } from "./AccountBatch.ts"
import { makeMemoryAccountStore } from "./account/MemoryAccountStore.ts"
import { makeSqlAccountStore } from "./account/SqlAccountStore.ts"
import type { StoreUnavailable } from "./StoreUnavailable.ts"

/** An account's amounts, in micro-credits. */
export interface AccountBalance {
  readonly grantedMicro: number
  readonly postedMicro: number
  readonly heldMicro: number
}

/** Credit pools, holds, the ledger, rate limits and idempotency keys, as the database keeps them. */
export class AccountStore extends Context.Service<
  AccountStore,
  {
    /**
     * Settles and admits many calls of one organization in one transaction. Each operation id is held once, counted once
     * and charged once, so a batch whose outcome is unknown is simply committed again: it answers the same.
     */
    commit(organization: OrganizationId, batch: Batch, terms: Terms): Effect.Effect<BatchAnswer, StoreUnavailable>
    /** The answer that is kept for an idempotency key; `None` when there is none (any more). */
    response(
      organization: OrganizationId,
      idempotency: Idempotency
    ): Effect.Effect<Option.Option<string>, StoreUnavailable>
    /** The rate limits of a key as they stand, without counting a call. */
    rateLimits(
      organization: OrganizationId,
      keyId: KeyId,
      defaultLimits: RateLimits
    ): Effect.Effect<RateLimitState, StoreUnavailable>
    balance(organization: OrganizationId): Effect.Effect<AccountBalance, StoreUnavailable>
    /** Lets the holds of these operations live for `life` from now. */
    extendHolds(
      operationIds: ReadonlyArray<OperationId>,
      life: Duration.Duration
    ): Effect.Effect<void, StoreUnavailable>
    /** Releases the holds that nobody extended in time and forgets what is past its time; counts the former. */
    readonly sweep: Effect.Effect<number, StoreUnavailable>
    /** Asks for a sign of life. */
    readonly check: Effect.Effect<void, StoreUnavailable>
  }
>()("sluice/store/AccountStore") {
  static readonly layer = Layer.effect(AccountStore, Effect.map(makeSqlAccountStore, AccountStore.of))

  /** On `MemoryAccounts`, by the fiber's clock. */
  static readonly layerMemory = Layer.effect(AccountStore, Effect.map(makeMemoryAccountStore, AccountStore.of))
}
