import { randomUUID } from "node:crypto"
import { Cause, Duration, Effect, Exit, MutableRef, Option } from "effect"
import { Caller, requireScope } from "../accounts/Authentication.ts"
import { Credits } from "../accounts/Credits.ts"
import type { Scope } from "../domain/Account.ts"
import { OperationId } from "../domain/Ids.ts"
import type { ModelUsed } from "../domain/Model.ts"
import { toCredits } from "../domain/Tariff.ts"
import type { AdmitCall } from "../store/AccountBatch.ts"
import type { ApiError } from "./ApiError.ts"
import { Deadline, DeadlineExceeded } from "./Deadline.ts"
import { asApiError, type OperationFailure } from "./Failures.ts"
import * as Idempotency from "./Idempotency.ts"

/**
 * The one way from a surface to an operation: authorize, admit (rate limits, idempotency and credit hold), run, settle. What is
 * exported here are the only constructors of operations, so that none can forget a step.
 */

/** What a paid call will do and cost, decided before anything is spent. */
export interface Plan<Value, R> {
  /** The most that the call can cost, in micro-credits; held while it runs. */
  readonly boundMicro: number
  /** The model that the call uses, for the ledger. */
  readonly model?: ModelUsed
  readonly run: Effect.Effect<Outcome<Value>, OperationFailure, R>
  /** What a caller who goes away in the middle has used, in micro-credits; nothing without it. */
  readonly usedWhenAbandoned?: () => number
}

export interface Outcome<Value> {
  readonly value: Value
  /** What the call used, in micro-credits. */
  readonly usedMicro: number
}

/** What a paid call answers: its value and its price in credits. */
export type Paid<Value> = Value & { readonly credits_used: number }

/** An operation as the surfaces call it. */
export interface Operation<Input, Output, R> {
  readonly operation: string
  readonly scope: Scope
  (input: Input): Effect.Effect<Output, ApiError, R | Caller | Credits>
}

const withDeadline = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | DeadlineExceeded, R> =>
  Effect.flatMap(Deadline, (deadline) =>
    Effect.timeoutOrElse(effect, {
      duration: deadline,
      orElse: () => new DeadlineExceeded({ seconds: Duration.toSeconds(deadline) })
    })
  )

/** Counts the call against the rate limits and holds its bound; leaves the limits' state with the caller. */
const admit = Effect.fnUntraced(function* (call: Omit<AdmitCall, "keyId">) {
  const caller = yield* Caller
  const credits = yield* Credits
  const { rateLimits, replay } = yield* Effect.tapError(
    credits.admit(caller.organizationId, { ...call, keyId: caller.keyId }),
    (error) =>
      Effect.sync(() => {
        if (error._tag === "RateLimited") MutableRef.set(caller.rateLimits, Option.some(error.rateLimits))
      })
  )
  MutableRef.set(caller.rateLimits, Option.some(rateLimits))
  return replay
})

const replayTo = <Output>(caller: Caller["Service"], kept: string) => {
  MutableRef.set(caller.replayed, true)
  return Idempotency.replay<Output>(kept)
}

/** Only the run itself can be interrupted: between admission and settlement nothing may get lost. */
const runPaid = <Value extends object, R>(
  operation: string,
  plan: Plan<Value, R>,
  idempotency: Option.Option<AdmitCall["idempotency"] & {}>
) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const caller = yield* Caller
      const credits = yield* Credits
      const operationId = OperationId.make(randomUUID())
      const once = Option.match(idempotency, { onNone: () => ({}), onSome: (idempotency) => ({ idempotency }) })
      const kept = yield* admit({ operationId, operation, boundMicro: plan.boundMicro, ...once })
      if (Option.isSome(kept)) return yield* replayTo<Paid<Value>>(caller, kept.value)

      const settle = (usedMicro: number, answer: string | undefined) =>
        credits.settle(caller.organizationId, {
          operationId,
          usedMicro,
          ...(plan.model === undefined ? {} : { model: `${plan.model.provider}/${plan.model.name}` }),
          ...(answer === undefined || Option.isNone(idempotency) ? {} : { response: answer })
        })
      const exit = yield* Effect.exit(asApiError(restore(withDeadline(plan.run))))
      if (Exit.isSuccess(exit)) {
        const { usedMicro, value } = exit.value
        const answer = Option.isNone(idempotency)
          ? undefined
          : Idempotency.keepOutput({ ...value, credits_used: toCredits(usedMicro) })
        return { ...value, credits_used: toCredits(yield* settle(usedMicro, answer)) }
      }
      const error = Cause.findErrorOption(exit.cause)
      yield* Option.isNone(error)
        ? settle(plan.usedWhenAbandoned?.() ?? 0, undefined)
        : settle(0, Idempotency.keepError(error.value))
      return yield* Effect.failCause(exit.cause)
    })
  )

/** An operation that costs credits; its output tells how many. */
export const paid = <Input, Value extends object, PlanR, R>(spec: {
  readonly operation: string
  readonly scope: Scope
  readonly plan: (input: Input) => Effect.Effect<Plan<Value, R>, OperationFailure, PlanR>
}): Operation<Input, Paid<Value>, PlanR | R> => {
  const call = Effect.fn(spec.operation)(function* (input: Input) {
    yield* requireScope(spec.scope)
    const plan = yield* spec.plan(input)
    const idempotency = yield* Idempotency.currentIdempotency(spec.operation, input)
    return yield* runPaid(spec.operation, plan, idempotency)
  }, asApiError)
  return Object.assign(call, { operation: spec.operation, scope: spec.scope })
}

/** An operation that costs nothing and, unless `counted` is false, counts against the rate limits. */
export const free = <Output, R, Input = void>(spec: {
  readonly operation: string
  readonly scope: Scope
  readonly counted?: boolean
  readonly run: (input: Input) => Effect.Effect<Output, OperationFailure, R>
}): Operation<Input, Output, R> => {
  const call = Effect.fn(spec.operation)(function* (input: Input) {
    yield* requireScope(spec.scope)
    if (spec.counted !== false) {
      yield* admit({ operationId: OperationId.make(randomUUID()), operation: spec.operation, boundMicro: 0 })
    }
    return yield* withDeadline(spec.run(input))
  }, asApiError)
  return Object.assign(call, { operation: spec.operation, scope: spec.scope })
}
