import { Duration, Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { Idempotency } from "../../domain/Idempotency.ts"
import type { KeyId, OperationId, OrganizationId } from "../../domain/Ids.ts"
import type { RateLimits } from "../../domain/RateLimit.ts"
import { admissionRows, type Batch, settlementRows, storedKey, type Terms } from "../AccountBatch.ts"
import { DatabaseClock } from "../Database.ts"
import { orUnavailable, orUnavailableWithin } from "../StoreUnavailable.ts"
import { type BatchRow, type KeyUsageRow, toBatchAnswer, toRateLimitState } from "./SqlBatch.ts"

/** A batch takes milliseconds. One that does not end is given up, and known to be harmless to send again. */
const COMMIT_TIMEOUT = Duration.seconds(5)
const CHECK_TIMEOUT = Duration.seconds(1)
/** Old idempotency records are deleted so many at a time. */
const FORGET_AT_ONCE = 1000

/** Who gives up a statement does not wait until a server that says nothing has taken it back. */
const withoutWaiting = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.forkDetach(effect), (fiber) =>
    Effect.onInterrupt(Fiber.join(fiber), () => Effect.sync(() => fiber.interruptUnsafe()))
  )

interface BalanceRow {
  readonly grantedMicro: number
  readonly postedMicro: number
  readonly heldMicro: number
}

/** The account store on the database that all processes share. */
export const makeSqlAccountStore = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* DatabaseClock

  // The account is locked before the time is taken: waiting for the lock is not held against the caller.
  const commit = Effect.fn("AccountStore.commit")(
    function* (organization: OrganizationId, batch: Batch, { defaultLimits, holdSeconds }: Terms) {
      if (batch.settlements.length + batch.admissions.length === 0) return { settlements: [], admissions: [] }
      const now = yield* clock
      const rows = yield* sql<BatchRow>`
        WITH locked AS MATERIALIZED (
          SELECT organization_id FROM accounts WHERE organization_id = ${organization} FOR UPDATE
        )
        SELECT answer.* FROM locked, LATERAL commit_batch(
          locked.organization_id,
          ${JSON.stringify(settlementRows(batch.settlements))}::text::json,
          ${JSON.stringify(admissionRows(batch.admissions))}::text::json,
          ${holdSeconds}, ${defaultLimits.perMinute}, ${defaultLimits.perDay}, ${now}
        ) AS answer`
      if (rows.length === 0) return yield* Effect.die(new Error(`There is no organization ${organization}`))
      return toBatchAnswer(batch, rows)
    },
    withoutWaiting,
    orUnavailableWithin(COMMIT_TIMEOUT)
  )

  const response = Effect.fn("AccountStore.response")(function* (
    organization: OrganizationId,
    idempotency: Idempotency
  ) {
    const now = yield* clock
    const [row] = yield* sql<{ readonly response: string }>`
      SELECT response FROM idempotency_records
       WHERE organization_id = ${organization} AND space = ${idempotency.space} AND key = ${storedKey(idempotency)}
         AND expires_at > ${now}`
    return Option.map(Option.fromNullishOr(row), (found) => found.response)
  }, orUnavailable)

  const rateLimits = Effect.fn("AccountStore.rateLimits")(function* (
    organization: OrganizationId,
    keyId: KeyId,
    { perDay, perMinute }: RateLimits
  ) {
    const now = yield* clock
    const [row] = yield* sql<KeyUsageRow>`
      SELECT usage.*, (key ->> 'per_minute')::integer AS key_per_minute, (key ->> 'used')::integer AS key_used,
             (key ->> 'reset')::timestamptz AS key_reset
        FROM rate_limit_usage(${organization}, ${perMinute}, ${perDay}, ${now}) AS usage,
             LATERAL (SELECT key_limit_usage(
               ${organization}, ARRAY[${keyId}::text], usage.first_in_window, usage.measured_at
             ) -> ${keyId}::text AS key) AS limited`
    return toRateLimitState(row!)
  }, orUnavailable)

  const balance = Effect.fn("AccountStore.balance")(function* (organization: OrganizationId) {
    const [row] = yield* sql<BalanceRow>`
      SELECT granted AS "grantedMicro", posted AS "postedMicro", held AS "heldMicro"
        FROM accounts WHERE organization_id = ${organization}`
    return row!
  }, orUnavailable)

  // A hold that is locked is just being settled: waiting for it could end in a deadlock.
  const extendHolds = Effect.fn("AccountStore.extendHolds")(function* (
    operationIds: ReadonlyArray<OperationId>,
    life: Duration.Duration
  ) {
    const now = yield* clock
    yield* sql`
      UPDATE holds SET expires_at = ${now} + make_interval(secs => ${Duration.toSeconds(life)})
       WHERE operation_id IN (
         SELECT operation_id FROM holds WHERE operation_id = ANY(${operationIds}) FOR UPDATE SKIP LOCKED
       )`
  }, orUnavailable)

  const releaseExpired = Effect.fnUntraced(function* (organization: OrganizationId) {
    const now = yield* clock
    const [row] = yield* sql<{ readonly released: number }>`
      SELECT released FROM release_expired_holds(${organization}, ${now})`
    return row!.released
  })

  // One organization at a time, so that none waits for another's lock.
  const sweep = Effect.gen(function* () {
    const now = yield* clock
    const owners = yield* sql<{ readonly id: OrganizationId }>`
      SELECT DISTINCT organization_id AS id FROM holds WHERE expires_at <= ${now}`
    let released = 0
    for (const { id } of owners) released += yield* releaseExpired(id)
    yield* sql`
      DELETE FROM idempotency_records WHERE (organization_id, space, key) IN (
        SELECT organization_id, space, key FROM idempotency_records
         WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${FORGET_AT_ONCE} FOR UPDATE SKIP LOCKED
      )`
    return released
  }).pipe(orUnavailable, Effect.withSpan("AccountStore.sweep"))

  const check = sql`SELECT 1`.pipe(Effect.asVoid, withoutWaiting, orUnavailableWithin(CHECK_TIMEOUT))

  return { commit, response, rateLimits, balance, extendHolds, sweep, check }
})
