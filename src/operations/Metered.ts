import { randomUUID } from "node:crypto"
import { Cause, Duration, Effect, Exit, MutableRef, Option } from "effect"
import { Caller, requireScope } from "../accounts/Authentication.ts"
import { Credits } from "../accounts/Credits.ts"
import type { Scope } from "../domain/Account.ts"
import { OperationId } from "../domain/Ids.ts"
import { toCredits } from "../domain/Tariff.ts"
import type { ApiError } from "./ApiError.ts"
import { Deadline, DeadlineExceeded } from "./Deadline.ts"
import { asApiError, type OperationFailure } from "./Failures.ts"

/**
 * The one way from a surface to an operation: authorize, admit (rate limits and credit hold), run, settle. What is
 * exported here are the only constructors of operations, so that none can forget a step.
 */

/** What a paid call will do and cost, decided before anything is spent. */
export interface Plan<Value, R> {
  /** The most that the call can cost, in micro-credits; held while it runs. */
  readonly boundMicro: number
  readonly run: Effect.Effect<Outcome<Value>, OperationFailure, R>
  /** What a caller who goes away in the middle has used, in micro-credits; nothing without it. */
  readonly usedWhenAbandoned?: () => number
}

export interface Outcome<Value> {
  readonly value: Value
  /** What the call used, in micro-credits. */
  readonly usedMicro: number
}

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
const admit = Effect.fnUntraced(function* (operation: string, operationId: OperationId, boundMicro: number) {
  const caller = yield* Caller
  const credits = yield* Credits
  const { rateLimits } = yield* Effect.tapError(
    credits.admit(caller.organizationId, { operationId, operation, keyId: caller.keyId, boundMicro }),
    (error) =>
      Effect.sync(() => {
        if (error._tag === "RateLimited") MutableRef.set(caller.rateLimits, Option.some(error.rateLimits))
      })
  )
  MutableRef.set(caller.rateLimits, Option.some(rateLimits))
})

/** Only the run itself can be interrupted: between admission and settlement nothing may get lost. */
const runPaid = <Value extends object, R>(operation: string, plan: Plan<Value, R>) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const { organizationId } = yield* Caller
      const credits = yield* Credits
      const operationId = OperationId.make(randomUUID())
      yield* admit(operation, operationId, plan.boundMicro)
      const exit = yield* Effect.exit(restore(withDeadline(plan.run)))
      if (Exit.isSuccess(exit)) {
        const chargedMicro = yield* credits.settle(organizationId, { operationId, usedMicro: exit.value.usedMicro })
        return { ...exit.value.value, credits_used: toCredits(chargedMicro) }
      }
      const usedMicro = Cause.hasInterruptsOnly(exit.cause) ? (plan.usedWhenAbandoned?.() ?? 0) : 0
      yield* credits.settle(organizationId, { operationId, usedMicro })
      return yield* Effect.failCause(exit.cause)
    })
  )

/** An operation that costs credits; its output tells how many. */
export const paid = <Input, Value extends object, PlanR, R>(spec: {
  readonly operation: string
  readonly scope: Scope
  readonly plan: (input: Input) => Effect.Effect<Plan<Value, R>, OperationFailure, PlanR>
}): Operation<Input, Value & { readonly credits_used: number }, PlanR | R> => {
  const call = Effect.fn(spec.operation)(function* (input: Input) {
    yield* requireScope(spec.scope)
    const plan = yield* spec.plan(input)
    return yield* runPaid(spec.operation, plan)
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
    if (spec.counted !== false) yield* admit(spec.operation, OperationId.make(randomUUID()), 0)
    return yield* withDeadline(spec.run(input))
  }, asApiError)
  return Object.assign(call, { operation: spec.operation, scope: spec.scope })
}
