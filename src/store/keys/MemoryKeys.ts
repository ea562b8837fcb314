import { Clock, Effect, Option } from "effect"
import type { KeyId, OrganizationId } from "../../domain/Ids.ts"
import type { KeyStore } from "../KeyStore.ts"
import {
  type KeyActor,
  type KeyDetails,
  type KeyRecord,
  KeyRefused,
  type KeySuccession,
  type KeyUse,
  MAX_LISTED_KEYS
} from "./KeyRecord.ts"

type Row = KeyRecord & Omit<KeyDetails, "status">

const NOTE_EVERY_MS = 60_000

const statusAt = ({ expiresAt, revokedAt }: Row, now: Date): KeyDetails["status"] => {
  if (revokedAt !== null) return "revoked"
  return expiresAt !== null && expiresAt <= now ? "expired" : "active"
}

const detailsAt = ({ secretHmac: _, ...row }: Row, now: Date): KeyDetails => ({
  ...row,
  status: statusAt({ ...row, secretHmac: _ }, now)
})

const endOf = ({ expiresAt }: Row): number => expiresAt?.getTime() ?? Number.POSITIVE_INFINITY

const isManager = ({ scopes }: Row): boolean => scopes.includes("admin") || scopes.includes("operator")

/** Keys in this process alone. Every organization exists here. */
export const makeMemoryKeys = Effect.sync((): KeyStore["Service"] => {
  const rows = new Map<KeyId, Row>()
  const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

  const blank = { expiresAt: null, revokedAt: null, lastUsedAt: null, perMinute: null, rotatedFrom: null }

  const add = Effect.fnUntraced(function* (
    key: KeyRecord,
    terms: Pick<Row, "expiresAt" | "perMinute" | "rotatedFrom">
  ) {
    const createdAt = yield* now
    if (terms.expiresAt !== null && terms.expiresAt <= createdAt)
      return yield* new KeyRefused({ reason: "expiry_past" })
    const row = { ...key, ...blank, ...terms, createdAt }
    rows.set(key.id, row)
    return detailsAt(row, createdAt)
  })

  const change = <A, E>({ keyId }: KeyActor, effect: Effect.Effect<A, E>) =>
    Effect.flatMap(now, (moment): Effect.Effect<A, E | KeyRefused> => {
      const actor = rows.get(keyId)
      if (actor === undefined || statusAt(actor, moment) !== "active") return new KeyRefused({ reason: "actor_ended" })
      return effect
    })

  const succeed = Effect.fnUntraced(function* (
    from: KeyId,
    key: KeyRecord,
    { expiresAt, overlapSeconds }: KeySuccession
  ) {
    const moment = yield* now
    const old = rows.get(from)
    if (old === undefined) return yield* new KeyRefused({ reason: "not_found" })
    if ([...rows.values()].some(({ rotatedFrom }) => rotatedFrom === from)) {
      return yield* new KeyRefused({ reason: "already_rotated" })
    }
    if (statusAt(old, moment) !== "active") return yield* new KeyRefused({ reason: "not_active" })
    const created = yield* add(key, {
      expiresAt: Option.getOrElse(expiresAt, () => old.expiresAt),
      perMinute: old.perMinute,
      rotatedFrom: from
    })
    const overlapEnd = moment.getTime() + overlapSeconds * 1000
    rows.set(from, { ...old, expiresAt: new Date(Math.min(endOf(old), overlapEnd)) })
    return created
  })

  const end = Effect.fnUntraced(function* (id: KeyId, actor: KeyActor) {
    const moment = yield* now
    const row = rows.get(id)
    if (row === undefined) return yield* new KeyRefused({ reason: "not_found" })
    const others = [...rows.values()].filter(
      (other) =>
        other.id !== id &&
        other.organizationId === row.organizationId &&
        isManager(other) &&
        statusAt(other, moment) === "active" &&
        endOf(other) >= endOf(row)
    )
    if (id === actor.keyId && others.length === 0) return yield* new KeyRefused({ reason: "last_admin" })
    const ended = { ...row, revokedAt: row.revokedAt ?? moment }
    rows.set(id, ended)
    return detailsAt(ended, moment)
  })

  return {
    find: (id) =>
      Effect.map(now, (moment) =>
        Option.map(
          Option.filter(Option.fromNullishOr(rows.get(id)), (row) => statusAt(row, moment) === "active"),
          ({ expiresAt, id, name, organizationId, scopes, secretHmac }) => ({
            id,
            organizationId,
            name,
            secretHmac,
            scopes,
            endsInMs: expiresAt === null ? null : expiresAt.getTime() - moment.getTime()
          })
        )
      ),
    put: (key) =>
      Effect.map(now, (createdAt) => void rows.set(key.id, { createdAt, ...rows.get(key.id), ...key, ...blank })),
    details: (id) =>
      Effect.map(now, (moment) => Option.map(Option.fromNullishOr(rows.get(id)), (row) => detailsAt(row, moment))),
    list: (organization: OrganizationId) =>
      Effect.map(now, (moment) =>
        [...rows.values()]
          .filter(({ organizationId }) => organizationId === organization)
          .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? -1 : 1))
          .slice(0, MAX_LISTED_KEYS)
          .map((row) => detailsAt(row, moment))
      ),
    create: (key, { expiresAt, perMinute }, actor) => {
      const terms = {
        expiresAt: Option.getOrNull(expiresAt),
        perMinute: Option.getOrNull(perMinute),
        rotatedFrom: null
      }
      return change(actor, add(key, terms))
    },
    rotate: (from, key, succession, actor) => change(actor, succeed(from, key, succession)),
    revoke: ({ id }, actor) => change(actor, end(id, actor)),
    noteUse: (uses: ReadonlyArray<KeyUse>) =>
      Effect.map(now, (moment) => {
        for (const { agoMs, id } of uses) {
          const row = rows.get(id)
          const usedAt = moment.getTime() - agoMs
          if (row === undefined || (row.lastUsedAt !== null && row.lastUsedAt.getTime() > usedAt - NOTE_EVERY_MS))
            continue
          rows.set(id, { ...row, lastUsedAt: new Date(usedAt) })
        }
      })
  }
})
