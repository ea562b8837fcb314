import { Context, Effect, Layer } from "effect"
import { type KeyId, OperationId, type OrganizationId } from "../domain/Ids.ts"
import type { AdmitCall } from "./AccountBatch.ts"

export interface MemoryHold {
  readonly call: AdmitCall
  readonly expiresAt: number
}

export interface MemoryEntry {
  readonly kind: "grant" | "charge"
  readonly operationId: OperationId
  readonly operation: string
  readonly model?: string
  readonly amountMicro: number
  readonly createdAt: number
}

export interface MemoryRecord {
  readonly fingerprint: string
  readonly operationId: OperationId
  /** Missing while the call runs. */
  readonly completed?: { readonly response: string; readonly expiresAt: number }
}

export interface MemoryAdmission {
  readonly at: number
  readonly keyId: KeyId
  readonly operationId: OperationId
  readonly hasHold: boolean
}

/** An organization's account with all that the database would keep of it. Times are milliseconds since 1970. */
export interface MemoryAccount {
  grantedMicro: number
  perMinute: number | undefined
  perDay: number | undefined
  /** The per-minute limits of keys that have one of their own. */
  readonly keyLimits: Map<KeyId, number>
  readonly holds: Map<OperationId, MemoryHold>
  readonly entries: Array<MemoryEntry>
  /** By space and key. */
  readonly records: Map<string, MemoryRecord>
  /** Those that may count against the minute, in their order. */
  admissions: Array<MemoryAdmission>
  lastAdmittedAt: number
  dayAdmitted: number
}

const emptyAccount = (): MemoryAccount => ({
  grantedMicro: 0,
  perMinute: undefined,
  perDay: undefined,
  keyLimits: new Map(),
  holds: new Map(),
  entries: [],
  records: new Map(),
  admissions: [],
  lastAdmittedAt: Number.NEGATIVE_INFINITY,
  dayAdmitted: 0
})

/** The accounts behind the stores in memory. */
export class MemoryAccounts extends Context.Service<
  MemoryAccounts,
  {
    /** Opens an account with its first grant, made at `now`. */
    open(organization: OrganizationId, grantedMicro: number, now: number): MemoryAccount
    find(organization: OrganizationId): MemoryAccount | undefined
    /** Throws without such an account. */
    get(organization: OrganizationId): MemoryAccount
    readonly all: Iterable<MemoryAccount>
  }
>()("sluice/store/MemoryAccounts") {
  static readonly layer = Layer.effect(
    MemoryAccounts,
    Effect.sync(() => {
      const accounts = new Map<OrganizationId, MemoryAccount>()

      const open = (organization: OrganizationId, grantedMicro: number, now: number) => {
        const account = emptyAccount()
        account.grantedMicro = grantedMicro
        account.entries.push({
          kind: "grant",
          operationId: OperationId.make(`grant/${organization}/initial`),
          operation: "grant",
          amountMicro: grantedMicro,
          createdAt: now
        })
        accounts.set(organization, account)
        return account
      }

      const get = (organization: OrganizationId) => {
        const account = accounts.get(organization)
        if (account === undefined) throw new Error(`There is no organization ${organization}`)
        return account
      }

      const find = (organization: OrganizationId) => accounts.get(organization)

      return MemoryAccounts.of({ open, find, get, all: { [Symbol.iterator]: () => accounts.values() } })
    })
  )
}

const sum = (amounts: Iterable<number>): number => {
  let total = 0
  for (const amount of amounts) total += amount
  return total
}

/** What was charged, in micro-credits. */
export const postedMicro = (account: MemoryAccount): number =>
  sum(account.entries.map(({ amountMicro, kind }) => (kind === "charge" ? amountMicro : 0)))

/** What is reserved, in micro-credits. */
export const heldMicro = (account: MemoryAccount): number =>
  sum([...account.holds.values()].map(({ call }) => call.boundMicro))

/** What is left to spend, in micro-credits. */
export const availableMicro = (account: MemoryAccount): number =>
  account.grantedMicro - postedMicro(account) - heldMicro(account)
