import { Effect, Schema } from "effect"

/** The success envelope of every endpoint but the status check. */
export const success = <S extends Schema.Top>(data: S) => Schema.Struct({ success: Schema.Literal(true), data })

/** Puts what an operation answers into the envelope. */
export const enveloped = <A, E, R>(operation: Effect.Effect<A, E, R>) =>
  Effect.map(operation, (data) => ({ success: true as const, data }))
