import { Config, Context, Data, Duration, Effect, Layer, Option, Schedule } from "effect"
import type { CreditBalance } from "../domain/Account.ts"
import type { OperationId, OrganizationId } from "../domain/Ids.ts"
import type { RateLimitState } from "../domain/RateLimit.ts"
import { toCredits } from "../domain/Tariff.ts"
import { AccountStore } from "../store/AccountStore.ts"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"

/** The pool cannot cover what the call could cost. */
export class InsufficientCredits extends Data.TaggedError("InsufficientCredits")<{
  readonly requiredMicro: number
  readonly availableMicro: number
}> {}

/** The organization made all the calls that it may for now. */
export class RateLimited extends Data.TaggedError("RateLimited")<{ readonly rateLimits: RateLimitState }> {}

/** How long a hold outlives its process. A live process extends its holds well before. */
const HOLD_TTL = Duration.seconds(30)
const EXTEND_EVERY = Duration.seconds(10)
const SWEEP_EVERY = Duration.seconds(10)

/** A charge whose answer was lost is asked for again: settling is idempotent, and an unsettled call must not be lost. */
const settleRetry = Schedule.max([Schedule.exponential("50 millis"), Schedule.recurs(6)])

const limits = Config.all({
  perMinute: Config.Int("SLUICE_LIMIT_PER_MINUTE").pipe(Config.withDefault(60)),
  perDay: Config.Int("SLUICE_LIMIT_PER_DAY").pipe(Config.withDefault(10_000))
})

/** Admits calls against rate limits and the credit pool, holds what they may cost and settles what they did. */
export class Credits extends Context.Service<
  Credits,
  {
    /**
     * Counts a call and reserves `boundMicro` for it, at once or not at all. The hold lasts until it is settled, and
     * while this process lives.
     */
    admit(
      organization: OrganizationId,
      call: { readonly operationId: OperationId; readonly operation: string; readonly boundMicro: number }
    ): Effect.Effect<RateLimitState, InsufficientCredits | RateLimited | StoreUnavailable>
    /** Ends the hold, charges `usedMicro` and answers what was charged; never more than the pool covers, never twice. */
    settle(
      organization: OrganizationId,
      operationId: OperationId,
      usedMicro: number
    ): Effect.Effect<number, StoreUnavailable>
    rateLimits(organization: OrganizationId): Effect.Effect<RateLimitState, StoreUnavailable>
    balance(organization: OrganizationId): Effect.Effect<CreditBalance, StoreUnavailable>
  }
>()("sluice/accounts/Credits") {
  static readonly layer = Layer.effect(
    Credits,
    Effect.gen(function* () {
      const store = yield* AccountStore
      const defaultLimits = yield* limits
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
        Effect.suspend(() =>
          live.size === 0 ? Effect.void : store.extendHolds([...live], Duration.toSeconds(HOLD_TTL))
        )
      )
      yield* inBackground(
        "releasing expired holds",
        SWEEP_EVERY,
        Effect.tap(store.sweep, (released) =>
          released === 0 ? Effect.void : Effect.logInfo("Released the holds of dead processes", { released })
        )
      )

      const admit = Effect.fn("Credits.admit")(function* (
        organization: OrganizationId,
        call: { readonly operationId: OperationId; readonly operation: string; readonly boundMicro: number }
      ) {
        const admission = yield* store.admit({
          organization,
          ...call,
          holdSeconds: Duration.toSeconds(HOLD_TTL),
          defaultLimits
        })
        const { availableMicro, outcome, rateLimits } = admission
        if (outcome === "rate_limited") return yield* new RateLimited({ rateLimits })
        if (outcome === "insufficient_credits") {
          return yield* new InsufficientCredits({ requiredMicro: call.boundMicro, availableMicro })
        }
        if (call.boundMicro > 0) live.add(call.operationId)
        return rateLimits
      })

      const settle = Effect.fn("Credits.settle")(
        function* (organization: OrganizationId, operationId: OperationId, usedMicro: number) {
          const charged = yield* store.settle(organization, operationId, usedMicro).pipe(Effect.retry(settleRetry))
          const chargedMicro = Option.getOrElse(charged, () => 0)
          if (chargedMicro < usedMicro) {
            yield* Effect.logWarning("A call used more than could be charged", { operationId, usedMicro, chargedMicro })
          }
          return chargedMicro
        },
        (effect, _organization, operationId) =>
          Effect.ensuring(
            effect,
            Effect.sync(() => live.delete(operationId))
          )
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
        rateLimits: (organization) => store.rateLimits(organization, defaultLimits)
      })
    })
  )
}
