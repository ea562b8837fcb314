import { createHash } from "node:crypto"
import { Context, Effect, Option } from "effect"
import type { Idempotency, IdempotencySpace } from "../domain/Idempotency.ts"
import { ApiError, type ErrorCode, type ErrorDetail } from "./ApiError.ts"

/** The key under which a caller wants a call to run once and to be answered alike ever after; 24 hours, in fact. */
export const IdempotencyKey = Context.Reference<Option.Option<Pick<Idempotency, "key" | "space">>>(
  "sluice/operations/IdempotencyKey",
  { defaultValue: Option.none }
)

const MAX_KEY_LENGTH = 255

/** Runs `effect` under the key that the caller sent, if any; `path` is the key's place in the request. */
export const withIdempotencyKey = <A, E, R>(
  space: IdempotencySpace,
  path: string,
  key: string | null | undefined,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | ApiError, R> => {
  if (key === null || key === undefined) return effect
  if (key.length >= 1 && key.length <= MAX_KEY_LENGTH && !key.includes("\0") && key.isWellFormed()) {
    return Effect.provideService(effect, IdempotencyKey, Option.some({ space, key }))
  }
  return new ApiError({
    code: "validation_failed",
    message: "The request does not fit the schema.",
    details: [{ path, message: `Expected a key of 1 to ${MAX_KEY_LENGTH} characters of well-formed Unicode` }]
  })
}

/** What makes this call of `operation` with `input` the same as an earlier one, when the caller sent a key. */
export const currentIdempotency = (operation: string, input: unknown): Effect.Effect<Option.Option<Idempotency>> =>
  Effect.map(
    IdempotencyKey,
    Option.map(({ key, space }) => ({
      key,
      space,
      fingerprint: createHash("sha256").update(operation).update("\n").update(JSON.stringify(input)).digest("hex")
    }))
  )

/** An answer as it is kept for replays. */
type KeptAnswer<Output> =
  | { readonly output: Output }
  | {
      readonly error: {
        readonly code: ErrorCode
        readonly message: string
        readonly details?: ReadonlyArray<ErrorDetail>
      }
    }

export const keepOutput = (output: unknown): string => JSON.stringify({ output })

/** A failure that would come again is kept like an answer; after others the call may run again. */
export const keepError = ({ code, details, message, retryable, status }: ApiError): string | undefined =>
  retryable || status >= 500 ? undefined : JSON.stringify({ error: { code, message, details } })

/** What `keepOutput` and `keepError` kept, told once more. */
export const replay = <Output>(kept: string): Effect.Effect<Output, ApiError> => {
  const answer: KeptAnswer<Output> = JSON.parse(kept)
  return "output" in answer ? Effect.succeed(answer.output) : new ApiError(answer.error)
}
