import type { Option } from "effect"
import type { Idempotency } from "../domain/Idempotency.ts"
import type { KeyId, OperationId } from "../domain/Ids.ts"
import type { RateLimitState, RateLimits } from "../domain/RateLimit.ts"

/** A call that wants to run. */
export interface AdmitCall {
  readonly operationId: OperationId
  readonly operation: string
  readonly keyId: KeyId
  /** What to reserve, in micro-credits. */
  readonly boundMicro: number
  readonly idempotency?: Idempotency
}

/** A call that has run. */
export interface Settlement {
  readonly operationId: OperationId
  /** What it used, in micro-credits. */
  readonly usedMicro: number
  /** The model that it used, as `vendor/model`, if it used one. */
  readonly model?: string
  /** What to answer to its idempotency key from now on, as JSON; without it, the key is forgotten and the call may run again. */
  readonly response?: string
}

/** Calls of one organization, each kind in the order of arrival. Settlements come first: they only free credit. */
export interface Batch {
  readonly settlements: ReadonlyArray<Settlement>
  readonly admissions: ReadonlyArray<AdmitCall>
}

/** What holds for every call of an installation. */
export interface Terms {
  /** Seconds until a hold expires, unless it is extended. */
  readonly holdSeconds: number
  /** The limits of organizations that have none of their own. */
  readonly defaultLimits: RateLimits
}

export type AdmissionOutcome =
  | "admitted"
  /** The call's idempotency key has an answer. */
  | "replay"
  /** The first call with this idempotency key still runs. */
  | "in_progress"
  /** The first call with this idempotency key was another one. */
  | "mismatch"
  | "rate_limited"
  | "insufficient_credits"

export interface Admission {
  readonly outcome: AdmissionOutcome
  readonly rateLimits: RateLimitState
  /** What the pool has left to spend, in micro-credits. */
  readonly availableMicro: number
}

/** One answer for each call of the batch, in its order. */
export interface BatchAnswer {
  /** What was charged, in micro-credits; `None`: there was no such hold (any more), nothing was charged. */
  readonly settlements: ReadonlyArray<Option.Option<number>>
  readonly admissions: ReadonlyArray<Admission>
}

/** The values that occur more than once. */
const repeated = (values: ReadonlyArray<string>): ReadonlySet<string> => {
  const seen = new Set<string>()
  return new Set(values.filter((value) => seen.has(value) || !seen.add(value)))
}

/** The settlements as `settle_batch` reads them. */
export const settlementRows = (settlements: ReadonlyArray<Settlement>) => {
  const shared = repeated(settlements.map(({ operationId }) => operationId))
  return settlements.map(({ model, operationId, response, usedMicro }) => ({
    operation_id: operationId,
    used: usedMicro,
    model: model?.toWellFormed().replaceAll("\0", "\uFFFD"),
    response: response?.toWellFormed(),
    shared: shared.has(operationId)
  }))
}

/** The key as the database can keep it: half a surrogate pair is no text there and would fail the whole batch. */
export const storedKey = ({ key }: Pick<Idempotency, "key">): string => key.toWellFormed()

const sharedKeyOf = ({ idempotency }: AdmitCall): ReadonlyArray<string> =>
  idempotency === undefined ? [] : [`${idempotency.space}/${storedKey(idempotency)}`]

/** The admissions as `admit_batch` reads them. */
export const admissionRows = (admissions: ReadonlyArray<AdmitCall>) => {
  const sharedIds = repeated(admissions.map(({ operationId }) => operationId))
  const sharedKeys = repeated(admissions.flatMap(sharedKeyOf))
  return admissions.map((call) => ({
    operation_id: call.operationId,
    operation: call.operation,
    bound: call.boundMicro,
    key_id: call.keyId,
    ...(call.idempotency === undefined ? {} : { ...call.idempotency, key: storedKey(call.idempotency) }),
    shared: sharedIds.has(call.operationId) || sharedKeyOf(call).some((key) => sharedKeys.has(key))
  }))
}
