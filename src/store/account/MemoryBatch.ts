import { Option } from "effect"
import type { Idempotency } from "../../domain/Idempotency.ts"
import type { Admission, AdmissionOutcome, AdmitCall, Settlement, Terms } from "../AccountBatch.ts"
import { availableMicro, type MemoryAccount, type MemoryRecord } from "../MemoryAccounts.ts"
import { accountTime, count, countedWithoutHold, rateLimitState } from "./MemoryLimits.ts"

const RECORD_LIFE_MS = 86_400_000

export const recordKey = ({ key, space }: Pick<Idempotency, "key" | "space">): string => `${space}/${key}`

/** A record that still stands at `now`. */
export const standingRecord = (
  account: MemoryAccount,
  idempotency: Pick<Idempotency, "key" | "space">,
  now: number
): MemoryRecord | undefined => {
  const record = account.records.get(recordKey(idempotency))
  return record?.completed === undefined || record.completed.expiresAt > now ? record : undefined
}

const findCharge = (account: MemoryAccount, { operationId }: Settlement | AdmitCall) =>
  account.entries.find((entry) => entry.kind === "charge" && entry.operationId === operationId)

const finishRecord = (account: MemoryAccount, { idempotency, operationId }: AdmitCall, response?: string, now = 0) => {
  if (idempotency === undefined) return
  const key = recordKey(idempotency)
  const record = account.records.get(key)
  if (record?.operationId !== operationId) return
  if (response === undefined) account.records.delete(key)
  else account.records.set(key, { ...record, completed: { response, expiresAt: now + RECORD_LIFE_MS } })
}

/** As `settle_batch` settles one call. */
export const settle = (account: MemoryAccount, settlement: Settlement, now: number): Option.Option<number> => {
  const hold = account.holds.get(settlement.operationId)
  if (hold === undefined) {
    return Option.map(Option.fromNullishOr(findCharge(account, settlement)), ({ amountMicro }) => amountMicro)
  }
  const charged = Math.min(settlement.usedMicro, hold.call.boundMicro + availableMicro(account))
  const { operation, operationId } = hold.call
  account.holds.delete(operationId)
  if (charged > 0) {
    const { model } = settlement
    const charge = { kind: "charge", operationId, operation, amountMicro: charged, createdAt: now } as const
    account.entries.push(model === undefined ? charge : { ...charge, model })
  }
  finishRecord(account, hold.call, settlement.response, now)
  return Option.some(charged)
}

const isKnown = (account: MemoryAccount, call: AdmitCall, now: number): boolean =>
  account.holds.has(call.operationId) ||
  findCharge(account, call) !== undefined ||
  (call.boundMicro === 0 &&
    call.idempotency === undefined &&
    countedWithoutHold(account, accountTime(account, now)).includes(call.operationId))

const earlierOutcome = (account: MemoryAccount, call: AdmitCall, now: number): AdmissionOutcome | undefined => {
  if (isKnown(account, call, now)) return "admitted"
  const record = call.idempotency === undefined ? undefined : standingRecord(account, call.idempotency, now)
  if (record === undefined) return undefined
  if (record.fingerprint !== call.idempotency?.fingerprint) return "mismatch"
  return record.completed === undefined ? "in_progress" : "replay"
}

const start = (account: MemoryAccount, call: AdmitCall, expiresAt: number, at: number) => {
  const { boundMicro, idempotency, keyId, operationId } = call
  const hasHold = boundMicro > 0 || idempotency !== undefined
  count(account, { at, keyId, operationId, hasHold })
  if (hasHold) account.holds.set(operationId, { call, expiresAt })
  if (idempotency !== undefined) {
    account.records.set(recordKey(idempotency), { fingerprint: idempotency.fingerprint, operationId })
  }
}

/** As `admit_batch` admits one call. */
export const admit = (account: MemoryAccount, call: AdmitCall, terms: Terms, now: number): Admission => {
  const at = accountTime(account, now)
  const limits = () => rateLimitState(account, call.keyId, terms.defaultLimits, at)
  const answer = (outcome: AdmissionOutcome): Admission => ({
    outcome,
    rateLimits: limits(),
    availableMicro: availableMicro(account)
  })
  const earlier = earlierOutcome(account, call, now)
  if (earlier !== undefined) return answer(earlier)
  const { day, minute } = limits()
  if (minute.remaining === 0 || day.remaining === 0) return answer("rate_limited")
  if (call.boundMicro > availableMicro(account)) return answer("insufficient_credits")
  start(account, call, now + terms.holdSeconds * 1000, at)
  return answer("admitted")
}

/** Releases the holds that expired by `now`, forgets their records; counts them. */
export const release = (account: MemoryAccount, now: number): number => {
  const expired = [...account.holds.values()].filter(({ expiresAt }) => expiresAt <= now)
  for (const { call } of expired) {
    account.holds.delete(call.operationId)
    finishRecord(account, call)
  }
  return expired.length
}

/** Forgets the answers that are past their time. */
export const forgetExpired = (account: MemoryAccount, now: number): void => {
  for (const [key, { completed }] of account.records) {
    if (completed !== undefined && completed.expiresAt <= now) account.records.delete(key)
  }
}
