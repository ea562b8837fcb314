import { Config, Context, Data, Duration, Effect, Layer, Option, Schedule, Schema } from "effect"
import type { CreditBalance } from "../domain/Account.ts"
import type { KeyId, OperationId, OrganizationId } from "../domain/Ids.ts"
import type { RateLimitState } from "../domain/RateLimit.ts"
import { toCredits } from "../domain/Tariff.ts"
import type { Admission, AdmitCall, Settlement } from "../store/AccountBatch.ts"
import { AccountStore } from "../store/AccountStore.ts"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"
import type { Overloaded } from "./GroupCommit.ts"
import * as Ledger from "./Ledger.ts"

/** The pool cannot cover what the call could cost. */
export class InsufficientCredits extends Data.TaggedError("InsufficientCredits")<{
  readonly requiredMicro: number
  readonly availableMicro: number
}> {}

/** The organization made all the calls that it may for now. */
export class RateLimited extends Data.TaggedError("RateLimited")<{ readonly rateLimits: RateLimitState }> {}

/** The first call with this idempotency key still runs. */
export class IdempotencyInProgress extends Data.TaggedError("IdempotencyInProgress") {}

/** The first call with this idempotency key was another one. */
export class IdempotencyMismatch extends Data.TaggedError("IdempotencyMismatch") {}

export type AdmitFailure =
  | IdempotencyInProgress
  | IdempotencyMismatch
  | InsufficientCredits
  | Overloaded
  | RateLimited
  | StoreUnavailable

/** A call that may run, or one that has its answer already. */
export interface Admitted {
  readonly rateLimits: RateLimitState
  /** What the first call with this idempotency key was answered: there is nothing to run, and nothing to settle. */
  readonly replay: Option.Option<string>
}

/** How long a hold outlives its process. A live process extends its holds well before. */
const HOLD_LIFE = Duration.seconds(30)
const EXTEND_EVERY = Duration.seconds(10)
const SWEEP_EVERY = Duration.seconds(10)

/** What an idempotency key's answer may measure. A larger one is not kept, and the call may run again. */
const MAX_RESPONSE_LENGTH = 10 * 1024 * 1024

const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))

/** The rate limits of organizations that have none of their own. */
export const installationLimits = Config.all({
  perMinute: Config.schema(Limit, "SLUICE_LIMIT_PER_MINUTE").pipe(Config.withDefault(60)),
  perDay: Config.schema(Limit, "SLUICE_LIMIT_PER_DAY").pipe(Config.withDefault(10_000))
})

const withinCeiling = ({ response, ...settlement }: Settlement): Settlement =>
  response === undefined || response.length > MAX_RESPONSE_LENGTH ? settlement : { ...settlement, response }

/** Admits calls against rate limits and the credit pool, holds what they may cost and settles what they did. */
export class Credits extends Context.Service<
  Credits,
  {
    /**
     * Counts a call and reserves its bound for it, at once or not at all. The hold lasts until it is settled, and while
     * this process lives. An operation id is counted and held once: admitting it again answers the same. A call with an
     * idempotency key that has an answer is neither counted nor held.
     */
    admit(organization: OrganizationId, call: AdmitCall): Effect.Effect<Admitted, AdmitFailure>
    /**
     * Ends the hold, charges what was used and answers what was charged, in micro-credits; never more than the pool
     * covers, never twice, and nothing when the hold is gone. The response is kept for the call's idempotency key.
     */
    settle(organization: OrganizationId, settlement: Settlement): Effect.Effect<number, StoreUnavailable>
    rateLimits(organization: OrganizationId, keyId: KeyId): Effect.Effect<RateLimitState, StoreUnavailable>
    balance(organization: OrganizationId): Effect.Effect<CreditBalance, StoreUnavailable>
  }
>()("sluice/accounts/Credits") {
  static readonly layer = Layer.effect(
    Credits,
    Effect.gen(function* () {
      const store = yield* AccountStore
      const defaultLimits = yield* installationLimits
      const terms = { holdSeconds: Duration.toSeconds(HOLD_LIFE), defaultLimits }
      const ledger = yield* Ledger.make(store, terms)
      const live = new Set<OperationId>()

      const inBackground = (
        label: string,
        every: Duration.Duration,
        effect: Effect.Effect<unknown, StoreUnavailable>
      ) =>
        effect.pipe(
          Effect.catchTag("StoreUnavailable", (error) =>
            Effect.logWarning(`${label}: database unavailable`, error.cause)
          ),
          Effect.schedule(Schedule.spaced(every)),
          Effect.forkScoped
        )

      yield* inBackground(
        "extending holds",
        EXTEND_EVERY,
        Effect.suspend(() => (live.size === 0 ? Effect.void : store.extendHolds([...live], HOLD_LIFE)))
      )
      yield* inBackground(
        "releasing expired holds",
        SWEEP_EVERY,
        Effect.tap(store.sweep, (released) =>
          released === 0 ? Effect.void : Effect.logInfo("Released the holds of dead processes", { released })
        )
      )

      /** What a call that was answered gets to see; `None` when its answer is just past its time. */
      const replay = (organization: OrganizationId, { idempotency }: AdmitCall) =>
        idempotency === undefined ? Effect.succeedNone : store.response(organization, idempotency)

      const answer = Effect.fnUntraced(function* (
        organization: OrganizationId,
        call: AdmitCall,
        { availableMicro, outcome, rateLimits }: Admission
      ): Effect.fn.Return<Admitted, AdmitFailure> {
        switch (outcome) {
          case "admitted":
            // A free call without a key has no hold, and nobody settles it.
            if (call.boundMicro > 0 || call.idempotency !== undefined) live.add(call.operationId)
            return { rateLimits, replay: Option.none() }
          case "replay": {
            const response = yield* replay(organization, call)
            return Option.isSome(response) ? { rateLimits, replay: response } : yield* admit(organization, call)
          }
          case "in_progress":
            return yield* new IdempotencyInProgress()
          case "mismatch":
            return yield* new IdempotencyMismatch()
          case "rate_limited":
            return yield* new RateLimited({ rateLimits })
          case "insufficient_credits":
            return yield* new InsufficientCredits({ requiredMicro: call.boundMicro, availableMicro })
        }
      })

      // A hold without an owner would wait for its end: who asks for one waits for the answer.
      const admit: (organization: OrganizationId, call: AdmitCall) => Effect.Effect<Admitted, AdmitFailure> = Effect.fn(
        "Credits.admit"
      )(function* (organization, call) {
        return yield* answer(organization, call, yield* ledger.admit(organization, call))
      }, Effect.uninterruptible)

      const settle = Effect.fn("Credits.settle")(
        function* (organization: OrganizationId, settlement: Settlement) {
          const { operationId, usedMicro } = settlement
          const charged = yield* ledger.settle(organization, withinCeiling(settlement))
          const chargedMicro = Option.getOrElse(charged, () => 0)
          if (chargedMicro < usedMicro) {
            yield* Effect.logWarning("A call used more than could be charged", { operationId, usedMicro, chargedMicro })
          }
          return chargedMicro
        },
        (effect, _organization, { operationId }) =>
          Effect.ensuring(
            effect,
            Effect.sync(() => live.delete(operationId))
          ),
        Effect.uninterruptible
      )

      const balance = Effect.fn("Credits.balance")(function* (organization: OrganizationId) {
        const { grantedMicro, heldMicro, postedMicro } = yield* store.balance(organization)
        return {
          balance: toCredits(grantedMicro - postedMicro - heldMicro),
          held: toCredits(heldMicro),
          spent: toCredits(postedMicro),
          granted: toCredits(grantedMicro)
        }
      })

      return Credits.of({
        admit,
        settle,
        balance,
        rateLimits: (organization, keyId) => store.rateLimits(organization, keyId, defaultLimits)
      })
    })
  )
}
