import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Duration, Effect, Exit, Fiber, Logger, MutableRef, Option } from "effect"
import { TestClock } from "effect/testing"
import { Caller } from "../../src/accounts/Authentication.ts"
import { InsufficientCredits, RateLimited } from "../../src/accounts/Credits.ts"
import { Overloaded } from "../../src/accounts/GroupCommit.ts"
import type { ApiError } from "../../src/operations/ApiError.ts"
import { Deadline } from "../../src/operations/Deadline.ts"
import type { OperationFailure } from "../../src/operations/Failures.ts"
import * as Metered from "../../src/operations/Metered.ts"
import { ProviderError, ProviderFailed } from "../../src/providers/ProviderError.ts"
import { caller, rateLimits, recordingCredits, unavailable } from "../support/Callers.ts"

const BOUND = 2_000_000
const USED = 500_000

const operationOf = (
  run: Effect.Effect<Metered.Outcome<{ readonly text: string }>, OperationFailure>,
  usedWhenAbandoned?: () => number
) =>
  Metered.paid({
    operation: "test",
    scope: "invoke",
    plan: (_: string) =>
      Effect.succeed({ boundMicro: BOUND, run, ...(usedWhenAbandoned === undefined ? {} : { usedWhenAbandoned }) })
  })

const answer = Effect.succeed({ value: { text: "hello" }, usedMicro: USED })

const failing = Effect.fail(
  new ProviderError({ provider: "vendor", reason: new ProviderFailed({}), cause: new Error("secret inner text") })
)

const expectError = <A>(exit: Exit.Exit<A, ApiError>): ApiError => {
  assert(Exit.isFailure(exit))
  return Option.getOrThrow(Cause.findErrorOption(exit.cause))
}

const call = <A, E>(
  effect: Effect.Effect<A, E, Caller | import("../../src/accounts/Credits.ts").Credits>,
  credits: ReturnType<typeof recordingCredits>,
  as = caller("invoke")
) => effect.pipe(Effect.provide(credits.layer), Effect.provideService(Caller, as))

describe("Metered.paid", () => {
  it.effect("holds the bound, charges what was used and tells the caller in credits", () =>
    Effect.gen(function* () {
      const credits = recordingCredits()
      const result = yield* call(operationOf(answer)("input"), credits)
      assert.deepStrictEqual(result, { text: "hello", credits_used: 0.5 })
      assert.deepStrictEqual(credits.calls, [
        ["admit", BOUND],
        ["settle", USED]
      ])
    })
  )

  it.effect("charges nothing and releases the hold when the run fails, and keeps the cause from the caller", () =>
    Effect.gen(function* () {
      const credits = recordingCredits()
      const error = expectError(yield* Effect.exit(call(operationOf(failing)("input"), credits)))
      assert.strictEqual(error.code, "provider_error")
      assert.notInclude(JSON.stringify(error.toBody("id")), "secret")
      assert.deepStrictEqual(credits.calls.at(-1), ["settle", 0])
    })
  )

  it.effect("answers a bug as `internal` without inner text, and charges nothing", () =>
    Effect.gen(function* () {
      const credits = recordingCredits()
      const buggy = operationOf(Effect.die(new Error("secret inner text")))("input")
      const error = expectError(yield* Effect.exit(call(buggy, credits)))
      assert.strictEqual(error.code, "internal")
      assert.notInclude(error.message, "secret")
      assert.deepStrictEqual(credits.calls.at(-1), ["settle", 0])
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("does not run what cannot be paid, and says what is missing", () =>
    Effect.gen(function* () {
      const credits = recordingCredits({
        admit: () => new InsufficientCredits({ requiredMicro: BOUND, availableMicro: USED })
      })
      const ran = MutableRef.make(false)
      const operation = operationOf(
        Effect.andThen(
          Effect.sync(() => MutableRef.set(ran, true)),
          answer
        )
      )
      const error = expectError(yield* Effect.exit(call(operation("input"), credits)))
      assert.strictEqual(error.code, "insufficient_credits")
      assert.deepStrictEqual(error.details, [
        { path: "required", message: "2" },
        { path: "available", message: "0.5" }
      ])
      assert.isFalse(MutableRef.get(ran))
    })
  )

  it.effect("tells a limited caller when to come back", () =>
    Effect.gen(function* () {
      const exhausted = { ...rateLimits, minute: { limit: 60, remaining: 0, resetSeconds: 7.2 } }
      const credits = recordingCredits({ admit: () => new RateLimited({ rateLimits: exhausted }) })
      const as = caller("invoke")
      const error = expectError(yield* Effect.exit(call(operationOf(answer)("input"), credits, as)))
      assert.strictEqual(error.code, "rate_limited")
      assert.strictEqual(error.retryAfterSeconds, 8)
      assert.deepStrictEqual(MutableRef.get(as.rateLimits), Option.some(exhausted))
    })
  )

  it.effect("tells a caller whom too many wait before to come back in a second", () =>
    Effect.gen(function* () {
      const credits = recordingCredits({ admit: () => new Overloaded() })
      const error = expectError(yield* Effect.exit(call(operationOf(answer)("input"), credits)))
      assert.deepInclude(error.toBody("id"), { code: "overloaded", status: 503, retryable: true })
      assert.strictEqual(error.retryAfterSeconds, 1)
    })
  )

  it.effect("admits nobody whose key lacks the scope", () =>
    Effect.gen(function* () {
      const credits = recordingCredits()
      const error = expectError(yield* Effect.exit(call(operationOf(answer)("input"), credits, caller("manage"))))
      assert.strictEqual(error.code, "forbidden")
      assert.deepStrictEqual(credits.calls, [])
    })
  )

  it.effect("charges a caller who goes away for what was used until then", () =>
    Effect.gen(function* () {
      const credits = recordingCredits()
      const started = yield* Deferred.make<void>()
      const endless = Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      const fiber = yield* Effect.forkChild(call(operationOf(endless, () => 1_500)("input"), credits))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(credits.calls.at(-1), ["settle", 1_500])
    })
  )

  it.effect("ends a call at its deadline and charges nothing", () =>
    Effect.gen(function* () {
      const credits = recordingCredits()
      const slow = call(operationOf(Effect.never, () => 1_500)("input"), credits).pipe(
        Effect.provideService(Deadline, Duration.seconds(2))
      )
      const fiber = yield* Effect.forkChild(Effect.exit(slow))
      yield* TestClock.adjust("2 seconds")
      const error = expectError(yield* Fiber.join(fiber))
      assert.strictEqual(error.code, "provider_timeout")
      assert.deepStrictEqual(credits.calls.at(-1), ["settle", 0])
    })
  )

  it.effect("delivers nothing that could not be charged", () =>
    Effect.gen(function* () {
      const credits = recordingCredits({ settle: () => unavailable })
      const error = expectError(yield* Effect.exit(call(operationOf(answer)("input"), credits)))
      assert.strictEqual(error.code, "unavailable")
      assert.notInclude(error.message, "10.0.0.7")
    }).pipe(Effect.provide(Logger.layer([])))
  )
})

describe("Metered.free", () => {
  const read = Metered.free({ operation: "read", scope: "invoke", run: () => Effect.succeed("value") })

  it.effect("counts the call and holds nothing", () =>
    Effect.gen(function* () {
      const credits = recordingCredits()
      assert.strictEqual(yield* call(read(), credits), "value")
      assert.deepStrictEqual(credits.calls, [["admit", 0]])
    })
  )

  it.effect("leaves alone what is not counted", () =>
    Effect.gen(function* () {
      const credits = recordingCredits()
      const uncounted = Metered.free({
        operation: "read",
        scope: "invoke",
        counted: false,
        run: () => Effect.succeed("value")
      })
      assert.strictEqual(yield* call(uncounted(), credits), "value")
      assert.deepStrictEqual(credits.calls, [])
    })
  )
})
