import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { decodeRequest } from "../../src/operations/DecodeRequest.ts"
import { validationError } from "../../src/operations/Failures.ts"

const Request = Schema.Struct({ texts: Schema.Array(Schema.NonEmptyString) })

const problems = (texts: ReadonlyArray<unknown>) =>
  Effect.map(Effect.flip(decodeRequest(Request, { texts })), (error) => validationError(error).details ?? [])

describe("decodeRequest", () => {
  it.effect("reports every problem of a small request, a hundred at most", () =>
    Effect.gen(function* () {
      assert.lengthOf(yield* problems(["", "text", 5]), 2)
      assert.lengthOf(yield* problems(Array(5000).fill("")), 100)
    })
  )

  it.effect("reports the first problem of a large request", () =>
    Effect.gen(function* () {
      assert.lengthOf(yield* problems(Array(100_000).fill("")), 1)
    })
  )

  it.effect("decodes a large request that fits", () =>
    Effect.gen(function* () {
      const texts = Array<string>(20_000).fill("text")
      assert.deepStrictEqual(yield* decodeRequest(Request, { texts }), { texts })
    })
  )
})
