import { Option } from "effect"
import type { Idempotency } from "../../src/domain/Idempotency.ts"
import type { KeyId, OperationId } from "../../src/domain/Ids.ts"
import type { Quota, RateLimitState } from "../../src/domain/RateLimit.ts"
import type { Admission, AdmissionOutcome, AdmitCall, Batch, Settlement, Terms } from "../../src/store/AccountBatch.ts"
import type { AccountSnapshot } from "./Ledgers.ts"

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

interface Counted {
  readonly at: number
  readonly call: AdmitCall
}

interface Record {
  readonly fingerprint: string
  readonly operationId: OperationId
  readonly response: Option.Option<string>
  readonly until: number
}

export interface ModelOptions {
  readonly grantedMicro: number
  readonly perMinute: number
  readonly perDay: number
  readonly keyLimits: ReadonlyMap<KeyId, number>
}

/**
 * What a ledger promises, written down as plainly as possible: it keeps everything that ever happened and counts it
 * anew each time.
 */
export class LedgerModel {
  readonly options: ModelOptions
  readonly holds = new Map<OperationId, { readonly call: AdmitCall; expiresAt: number }>()
  readonly charges = new Map<OperationId, number>()
  readonly counted: Array<Counted> = []
  readonly records = new Map<string, Record>()

  constructor(options: ModelOptions) {
    this.options = options
  }

  get available(): number {
    return this.options.grantedMicro - this.#posted() - this.#held()
  }

  commit(batch: Batch, { holdSeconds }: Terms, now: number) {
    return {
      settlements: batch.settlements.map((settlement) => this.#settle(settlement, now)),
      admissions: batch.admissions.map((call) => this.#admit(call, now + holdSeconds * 1000, now))
    }
  }

  extend(operations: ReadonlyArray<OperationId>, until: number) {
    for (const operation of operations) {
      const hold = this.holds.get(operation)
      if (hold !== undefined) hold.expiresAt = until
    }
  }

  sweep(now: number): number {
    const dead = [...this.holds.values()].filter(({ expiresAt }) => expiresAt <= now)
    for (const { call } of dead) this.#end(call, Option.none(), now)
    for (const [key, { response, until }] of this.records) {
      if (Option.isSome(response) && until <= now) this.records.delete(key)
    }
    return dead.length
  }

  rateLimits(key: KeyId, now: number): RateLimitState {
    const time = this.#time(now)
    const recent = this.counted.filter(({ at }) => at > time - MINUTE)
    const organization = this.#quota(this.options.perMinute, recent, time)
    const limit = this.options.keyLimits.get(key)
    const ofKey = recent.filter(({ call }) => call.keyId === key)
    const minute = limit === undefined ? organization : this.#both(organization, this.#quota(limit, ofKey, time))
    const today = this.counted.filter(({ at }) => Math.floor(at / DAY) === Math.floor(time / DAY)).length
    const tomorrow = (Math.floor(time / DAY) + 1) * DAY
    return {
      minute,
      day: {
        limit: this.options.perDay,
        remaining: Math.max(0, this.options.perDay - today),
        resetSeconds: (tomorrow - time) / 1000
      }
    }
  }

  snapshot(now: number): AccountSnapshot {
    const sorted = <A extends ReadonlyArray<unknown>>(rows: ReadonlyArray<A>) =>
      [...rows].sort((one, other) => (String(one[0]) < String(other[0]) ? -1 : 1))
    return {
      grantedMicro: this.options.grantedMicro,
      postedMicro: this.#posted(),
      heldMicro: this.#held(),
      holds: sorted([...this.holds.values()].map(({ call }) => [call.operationId, call.boundMicro] as const)),
      charges: sorted([...this.charges]),
      records: sorted(
        [...this.records]
          .filter(([, { response, until }]) => Option.isNone(response) || until > now)
          .map(([key, record]) => [key, record.operationId, Option.getOrNull(record.response)] as const)
      )
    }
  }

  #admit(call: AdmitCall, expiresAt: number, now: number): Admission {
    const outcome = this.#outcome(call, now)
    if (outcome === "new") {
      this.counted.push({ at: this.#time(now), call })
      if (call.boundMicro > 0 || call.idempotency !== undefined) this.holds.set(call.operationId, { call, expiresAt })
      if (call.idempotency !== undefined) {
        const { fingerprint } = call.idempotency
        const record = { fingerprint, operationId: call.operationId, response: Option.none(), until: 0 }
        this.records.set(keyOf(call.idempotency), record)
      }
    }
    return {
      outcome: outcome === "new" ? "admitted" : outcome,
      rateLimits: this.rateLimits(call.keyId, now),
      availableMicro: this.available
    }
  }

  #outcome(call: AdmitCall, now: number): AdmissionOutcome | "new" {
    if (this.holds.has(call.operationId) || this.charges.has(call.operationId)) return "admitted"
    const isFree = call.boundMicro === 0 && call.idempotency === undefined
    const isRecent = ({ at, call: { operationId } }: Counted) =>
      operationId === call.operationId && at > this.#time(now) - MINUTE
    if (isFree && this.counted.some(isRecent)) return "admitted"
    const earlier = this.#standing(call, now)
    if (earlier !== undefined) {
      if (earlier.fingerprint !== call.idempotency?.fingerprint) return "mismatch"
      return Option.isSome(earlier.response) ? "replay" : "in_progress"
    }
    const { day, minute } = this.rateLimits(call.keyId, now)
    if (day.remaining === 0 || minute.remaining === 0) return "rate_limited"
    return call.boundMicro > this.available ? "insufficient_credits" : "new"
  }

  #standing({ idempotency }: AdmitCall, now: number): Record | undefined {
    const record = idempotency === undefined ? undefined : this.records.get(keyOf(idempotency))
    return record !== undefined && (Option.isNone(record.response) || record.until > now) ? record : undefined
  }

  #settle({ operationId, response, usedMicro }: Settlement, now: number): Option.Option<number> {
    const hold = this.holds.get(operationId)
    if (hold === undefined) return Option.fromNullishOr(this.charges.get(operationId))
    const charged = Math.min(usedMicro, hold.call.boundMicro + this.available)
    this.#end(hold.call, Option.fromNullishOr(response), now)
    if (charged > 0) this.charges.set(operationId, charged)
    return Option.some(charged)
  }

  #end({ idempotency, operationId }: AdmitCall, response: Option.Option<string>, now: number) {
    this.holds.delete(operationId)
    if (idempotency === undefined) return
    const key = keyOf(idempotency)
    const record = this.records.get(key)
    if (record?.operationId !== operationId) return
    if (Option.isNone(response)) this.records.delete(key)
    else this.records.set(key, { ...record, response, until: now + DAY })
  }

  #posted = (): number => [...this.charges.values()].reduce((sum, amount) => sum + amount, 0)

  #held = (): number => [...this.holds.values()].reduce((sum, { call }) => sum + call.boundMicro, 0)

  #time = (now: number): number => this.counted.reduce((latest, { at }) => Math.max(latest, at), now)

  /** Retrying when `resetSeconds` are over succeeds, if nobody else came: looked for by trying the moments. */
  #quota(limit: number, recent: ReadonlyArray<Counted>, now: number): Quota {
    const remaining = Math.max(0, limit - recent.length)
    const leaving = recent.map(({ at }) => at + MINUTE)
    const isFree = (moment: number) => recent.filter(({ at }) => at > moment - MINUTE).length < limit
    const reset = remaining > 0 ? leaving[0] : leaving.find(isFree)
    return { limit, remaining, resetSeconds: ((reset ?? now + MINUTE) - now) / 1000 }
  }

  #both(one: Quota, other: Quota): Quota {
    const [least, most] = one.remaining <= other.remaining ? [one, other] : [other, one]
    const resets = least.remaining === most.remaining ? [one.resetSeconds, other.resetSeconds] : [least.resetSeconds]
    return {
      limit: Math.min(one.limit, other.limit),
      remaining: least.remaining,
      resetSeconds: Math.max(...resets)
    }
  }
}

const keyOf = ({ key, space }: Idempotency): string => `${space}/${key}`
