import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Random } from "effect"
import { TestClock } from "effect/testing"
import {
  ModelNotFound,
  ModelRefused,
  ProviderError,
  ProviderFailed,
  ProviderOverloaded,
  ProviderTimeout
} from "../../src/providers/ProviderError.ts"
import { resilient } from "../../src/providers/Resilience.ts"

const failing = (reason: ProviderError["reason"]) => new ProviderError({ provider: "vendor", reason })

/** The latest moment that full jitter can choose, so that pauses can be told. */
const fullPauses = Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 1, nextIntUnsafe: () => 1 })

/** Runs a call that fails with `reasons` in turn, then succeeds; gives how it ended and when each attempt began. */
const attempts = Effect.fnUntraced(function* (reasons: ReadonlyArray<ProviderError["reason"]>) {
  const times: Array<number> = []
  const attempt = Effect.gen(function* () {
    const reason = reasons[times.length]
    times.push(yield* Clock.currentTimeMillis)
    return reason === undefined ? "answer" : yield* failing(reason)
  })
  const fiber = yield* Effect.forkChild(Effect.result(fullPauses(resilient("vendor", "1 minute")(attempt))))
  yield* TestClock.adjust("1 hour")
  return { result: yield* Fiber.join(fiber), times }
})

describe("a vendor's failure", () => {
  const mendable = [
    new ProviderOverloaded({}),
    new ProviderTimeout(),
    new ProviderFailed({}),
    new ProviderFailed({ status: 409 }),
    new ProviderFailed({ status: 500 }),
    new ProviderFailed({ status: 502 })
  ]
  for (const reason of mendable) {
    it.effect(`is mended by another attempt: ${JSON.stringify(reason)}`, () =>
      Effect.gen(function* () {
        const { result, times } = yield* attempts([reason, reason])
        assert.strictEqual(result._tag === "Success" && result.success, "answer")
        assert.deepStrictEqual(times, [0, 500, 1500])
      })
    )
  }

  it.effect("reaches the caller after three attempts", () =>
    Effect.gen(function* () {
      const { result, times } = yield* attempts(Array.from({ length: 9 }, () => new ProviderFailed({ status: 500 })))
      assert.strictEqual(result._tag, "Failure")
      assert.strictEqual(times.length, 3)
    })
  )

  const final = [
    new ProviderFailed({ status: 401 }),
    new ProviderFailed({ status: 200 }),
    new ProviderFailed({ status: 307 }),
    new ModelNotFound({ model: "m" }),
    new ModelRefused({ path: "prompt", message: "No" }),
    new ProviderOverloaded({ retryAfterMs: 10_001 })
  ]
  for (const reason of final) {
    it.effect(`reaches the caller at once when no attempt mends it: ${JSON.stringify(reason)}`, () =>
      Effect.gen(function* () {
        const { result, times } = yield* attempts([reason])
        assert.strictEqual(result._tag, "Failure")
        assert.deepStrictEqual(times, [0])
      })
    )
  }

  it.effect("is not repeated before the vendor's Retry-After", () =>
    Effect.gen(function* () {
      const { times } = yield* attempts([new ProviderOverloaded({ retryAfterMs: 7000 })])
      assert.deepStrictEqual(times, [0, 7500])
    })
  )

  it.effect("spreads its repetitions over the whole pause", () =>
    Effect.gen(function* () {
      const noPauses = Effect.provideService(Random.Random, { nextDoubleUnsafe: () => 0, nextIntUnsafe: () => 0 })
      let count = 0
      const attempt = Effect.suspend(() => (++count < 3 ? failing(new ProviderTimeout()) : Effect.succeed("answer")))
      const fiber = yield* Effect.forkChild(noPauses(resilient("vendor", "1 minute")(attempt)))
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* Fiber.join(fiber), "answer")
    })
  )
})

describe("an attempt that hangs", () => {
  it.effect("is interrupted after its time-out, thrice, and becomes ProviderTimeout", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const hanging = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
      const fiber = yield* Effect.forkChild(Effect.flip(fullPauses(resilient("vendor", "1 minute")(hanging))))
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(interrupted, 0)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* Fiber.join(fiber)).reason._tag, "ProviderTimeout")
      assert.strictEqual(interrupted, 3)
    })
  )

  it.effect("is interrupted with its caller", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const hanging = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
      const fiber = yield* Effect.forkChild(resilient("vendor", "1 minute")(hanging))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(interrupted, 1)
    })
  )
})
