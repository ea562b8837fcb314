/** Keys of the two surfaces do not meet. */
export type IdempotencySpace = "rest" | "graphql"

/** What makes a call the same as an earlier one. */
export interface Idempotency {
  readonly space: IdempotencySpace
  /** As the client sent it. */
  readonly key: string
  /** A hash of the operation and its input: the same key with another one is a mistake of the client. */
  readonly fingerprint: string
}
