import type { KeyId, OperationId } from "../../domain/Ids.ts"
import { narrower, type Quota, type RateLimitState, type RateLimits } from "../../domain/RateLimit.ts"
import type { MemoryAccount } from "../MemoryAccounts.ts"

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const utcDay = (at: number): number => Math.floor(at / DAY_MS)

/** An organization's time: clocks may step back, it never does. */
export const accountTime = (account: MemoryAccount, now: number): number => Math.max(now, account.lastAdmittedAt)

const minuteQuota = (limit: number, admittedAt: ReadonlyArray<number>, now: number): Quota => {
  // While calls are refused: when enough of them have left the window. Otherwise: when the oldest leaves it.
  const leaves = admittedAt[Math.max(0, admittedAt.length - limit)] ?? now
  return {
    limit,
    remaining: Math.max(0, limit - admittedAt.length),
    resetSeconds: (leaves + MINUTE_MS - now) / 1000
  }
}

/** The limits as they stand at `now` for calls with this key. */
export const rateLimitState = (
  account: MemoryAccount,
  keyId: KeyId,
  defaults: RateLimits,
  now: number
): RateLimitState => {
  const counted = account.admissions.filter(({ at }) => at > now - MINUTE_MS)
  const times = counted.map(({ at }) => at)
  const organization = minuteQuota(account.perMinute ?? defaults.perMinute, times, now)
  const keyLimit = account.keyLimits.get(keyId)
  const ofKey = counted.flatMap(({ at, keyId: other }) => (other === keyId ? [at] : []))
  const perDay = account.perDay ?? defaults.perDay
  const today = utcDay(account.lastAdmittedAt) === utcDay(now) ? account.dayAdmitted : 0
  return {
    minute: keyLimit === undefined ? organization : narrower(organization, minuteQuota(keyLimit, ofKey, now)),
    day: {
      limit: perDay,
      remaining: Math.max(0, perDay - today),
      resetSeconds: ((utcDay(now) + 1) * DAY_MS - now) / 1000
    }
  }
}

/** Counts a call that is admitted at `now`. */
export const count = (account: MemoryAccount, admission: MemoryAccount["admissions"][number]): void => {
  const now = admission.at
  account.admissions = account.admissions.filter(({ at }) => at > now - MINUTE_MS)
  account.admissions.push(admission)
  account.dayAdmitted = utcDay(account.lastAdmittedAt) === utcDay(now) ? account.dayAdmitted + 1 : 1
  account.lastAdmittedAt = now
}

/** The calls in the window that have no hold to be known by. */
export const countedWithoutHold = (account: MemoryAccount, now: number): ReadonlyArray<OperationId> =>
  account.admissions.flatMap(({ at, hasHold, operationId }) => (!hasHold && at > now - MINUTE_MS ? [operationId] : []))
