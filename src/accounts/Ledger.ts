import { Effect, Schedule } from "effect"
import type { OrganizationId } from "../domain/Ids.ts"
import type { AdmitCall, BatchAnswer, Settlement, Terms } from "../store/AccountBatch.ts"
import type { AccountStore } from "../store/AccountStore.ts"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"
import * as Availability from "./Availability.ts"
import * as GroupCommit from "./GroupCommit.ts"

const MAX_BATCH = 256
/** Characters of responses to keep. */
const MAX_BATCH_LENGTH = 16 * 1024 * 1024
/** At a few thousand calls a second, those who wait longer than a second or so are better told to come back. */
const MAX_WAITING = 4096

/** A commit whose outcome is unknown is sent again at once: it answers what it answered. */
const commitRetry = Schedule.max([Schedule.exponential("25 millis"), Schedule.recurs(2)])

/** A charge that could not be made is tried for some seconds more: the call has run, and what it used must not be lost. */
const settleRetry = Schedule.max([Schedule.exponential("50 millis"), Schedule.recurs(7)])

type Member = { readonly settlement: Settlement } | { readonly admission: AdmitCall }

/** Where in the answer of its batch a member finds its own. */
interface Place {
  readonly answer: BatchAnswer
  readonly index: number
}

const toBatch = (members: ReadonlyArray<Member>) => ({
  settlements: members.flatMap((member) => ("settlement" in member ? [member.settlement] : [])),
  admissions: members.flatMap((member) => ("admission" in member ? [member.admission] : []))
})

const toPlaces = (members: ReadonlyArray<Member>, answer: BatchAnswer): ReadonlyArray<Place> => {
  let settlements = 0
  let admissions = 0
  return members.map((member) => ({ answer, index: "settlement" in member ? settlements++ : admissions++ }))
}

const isUnavailable = (error: StoreUnavailable | GroupCommit.Overloaded): error is StoreUnavailable =>
  error._tag === "StoreUnavailable"

/** Settles and admits calls in batches, one organization's under way at a time. */
export const make = Effect.fnUntraced(function* (store: AccountStore["Service"], terms: Terms) {
  const availability = yield* Availability.make(store.check)

  const batches = yield* GroupCommit.make<OrganizationId, Member, Place, StoreUnavailable>({
    commit: (organization, members) =>
      availability
        .guard(store.commit(organization, toBatch(members), terms))
        .pipe(Effect.map((answer) => toPlaces(members, answer))),
    retry: commitRetry,
    maxBatch: MAX_BATCH,
    maxWeight: MAX_BATCH_LENGTH,
    weigh: (member) => ("settlement" in member ? (member.settlement.response?.length ?? 0) : 0),
    // Who was admitted must be able to settle.
    maxWaiting: (member) => ("settlement" in member ? Number.POSITIVE_INFINITY : MAX_WAITING)
  })

  const admit = (organization: OrganizationId, admission: AdmitCall) =>
    availability
      .guard(batches.submit(organization, { admission }))
      .pipe(Effect.map(({ answer, index }) => answer.admissions[index]!))

  const settle = (organization: OrganizationId, settlement: Settlement) =>
    batches.submit(organization, { settlement }).pipe(
      Effect.retry({ schedule: settleRetry, while: isUnavailable }),
      Effect.catchTag("Overloaded", Effect.die),
      Effect.map(({ answer, index }) => answer.settlements[index]!)
    )

  return { admit, settle }
})
