import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { OperationId, OrganizationId } from "../domain/Ids.ts"
import type { RateLimitState, RateLimits } from "../domain/RateLimit.ts"
import { DatabaseClock } from "./Database.ts"
import { orUnavailable, type StoreUnavailable } from "./StoreUnavailable.ts"

export interface AdmitCall {
  readonly organization: OrganizationId
  readonly operationId: OperationId
  readonly operation: string
  /** What to reserve, in micro-credits. */
  readonly boundMicro: number
  /** Seconds until the hold expires, unless it is extended. */
  readonly holdSeconds: number
  /** The limits of organizations that have none of their own. */
  readonly defaultLimits: RateLimits
}

export interface Admission {
  readonly outcome: "admitted" | "rate_limited" | "insufficient_credits"
  readonly rateLimits: RateLimitState
  /** What the pool has left to spend, in micro-credits. */
  readonly availableMicro: number
}

/** An account's amounts, in micro-credits. */
export interface AccountBalance {
  readonly grantedMicro: number
  readonly postedMicro: number
  readonly heldMicro: number
}

interface UsageRow {
  readonly per_minute: number
  readonly minute_used: number
  readonly minute_reset: Date
  readonly per_day: number
  readonly day_used: number
  readonly day_reset: Date
  readonly measured_at: Date
}

const toRateLimitState = (row: UsageRow): RateLimitState => ({
  minute: {
    limit: row.per_minute,
    remaining: Math.max(0, row.per_minute - row.minute_used),
    resetSeconds: (row.minute_reset.getTime() - row.measured_at.getTime()) / 1000
  },
  day: {
    limit: row.per_day,
    remaining: Math.max(0, row.per_day - row.day_used),
    resetSeconds: (row.day_reset.getTime() - row.measured_at.getTime()) / 1000
  }
})

/** Credit pools, holds, the ledger and rate limits, as the database keeps them. */
export class AccountStore extends Context.Service<
  AccountStore,
  {
    /** Counts the call and reserves its bound, or refuses it without a trace; one transaction. */
    admit(call: AdmitCall): Effect.Effect<Admission, StoreUnavailable>
    /**
     * Ends a hold and charges `usedMicro`, as far as the pool covers it; answers what was charged. Repeating it charges
     * nothing more. `None`: there is no such hold (any more), nothing was charged.
     */
    settle(
      organization: OrganizationId,
      operationId: OperationId,
      usedMicro: number
    ): Effect.Effect<Option.Option<number>, StoreUnavailable>
    /** The rate limits as they stand, without counting a call. */
    rateLimits(organization: OrganizationId, defaultLimits: RateLimits): Effect.Effect<RateLimitState, StoreUnavailable>
    balance(organization: OrganizationId): Effect.Effect<AccountBalance, StoreUnavailable>
    /** Lets the holds of these operations live for `seconds` from now. */
    extendHolds(operationIds: ReadonlyArray<OperationId>, seconds: number): Effect.Effect<void, StoreUnavailable>
    /** Releases the holds that nobody extended in time, forgets admissions that no window needs; counts the former. */
    readonly sweep: Effect.Effect<number, StoreUnavailable>
  }
>()("sluice/store/AccountStore") {
  static readonly layer = Layer.effect(
    AccountStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* DatabaseClock

      const admit = Effect.fn("AccountStore.admit")(function* (call: AdmitCall) {
        const now = yield* clock
        const [row] = yield* sql<UsageRow & { readonly outcome: Admission["outcome"]; readonly available: number }>`
          SELECT * FROM admit_call(
            ${call.organization}, ${call.operationId}, ${call.operation}, ${call.boundMicro}, ${call.holdSeconds},
            ${call.defaultLimits.perMinute}, ${call.defaultLimits.perDay}, ${now}
          )`
        return { outcome: row!.outcome, rateLimits: toRateLimitState(row!), availableMicro: row!.available }
      }, orUnavailable)

      const settle = Effect.fn("AccountStore.settle")(function* (
        organization: OrganizationId,
        operationId: OperationId,
        usedMicro: number
      ) {
        const now = yield* clock
        const [row] = yield* sql<{ readonly charged: number | null }>`
          SELECT charged FROM settle_call(${organization}, ${operationId}, ${usedMicro}, ${now})`
        return Option.fromNullishOr(row!.charged)
      }, orUnavailable)

      const rateLimits = Effect.fn("AccountStore.rateLimits")(function* (
        organization: OrganizationId,
        defaultLimits: RateLimits
      ) {
        const now = yield* clock
        const [row] = yield* sql<UsageRow>`
          SELECT * FROM rate_limit_usage(${organization}, ${defaultLimits.perMinute}, ${defaultLimits.perDay}, ${now})`
        return toRateLimitState(row!)
      }, orUnavailable)

      const balance = Effect.fn("AccountStore.balance")(function* (organization: OrganizationId) {
        const [row] = yield* sql<AccountBalance>`
          SELECT granted AS "grantedMicro", posted AS "postedMicro", held AS "heldMicro"
            FROM accounts WHERE organization_id = ${organization}`
        return row!
      }, orUnavailable)

      const extendHolds = Effect.fn("AccountStore.extendHolds")(function* (
        operationIds: ReadonlyArray<OperationId>,
        seconds: number
      ) {
        const now = yield* clock
        yield* sql`
          UPDATE holds SET expires_at = ${now} + make_interval(secs => ${seconds})
           WHERE operation_id = ANY(${operationIds})`
      }, orUnavailable)

      const sweep = Effect.gen(function* () {
        const now = yield* clock
        const [row] = yield* sql<{ readonly released: number }>`SELECT release_expired_holds(${now}) AS released`
        yield* sql`
          DELETE FROM admissions USING accounts
           WHERE admissions.organization_id = accounts.organization_id
             AND admissions.number < accounts.window_start`
        return row!.released
      }).pipe(orUnavailable, Effect.withSpan("AccountStore.sweep"))

      return AccountStore.of({ admit, settle, rateLimits, balance, extendHolds, sweep })
    })
  )
}
