import { DateTime, Option, Schema } from "effect"

const DAY = /^\d{4}-\d{2}-\d{2}$/

/** Without its zone a time would mean another moment to each reader. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/

const MS_PER_DAY = 86_400_000

const isMoment = (text: string): boolean => Option.isSome(DateTime.make(text))

/** A moment in ISO 8601 with its zone. Answers are in UTC. */
export const Timestamp = Schema.String.check(
  Schema.makeFilter((text: string) => TIME.test(text) && isMoment(text), {
    expected: "an ISO 8601 time with its zone, such as 2027-01-01T00:00:00Z"
  })
)

/** One end of a period: a whole UTC day, or a moment. */
export const PeriodEnd = Schema.String.check(
  Schema.makeFilter((text: string) => (DAY.test(text) || TIME.test(text)) && isMoment(text), {
    expected: "a UTC day, such as 2027-01-31, or an ISO 8601 time with its zone"
  })
)

/** The moment at which a period begins that is said to begin with `from`. */
export const periodStart = (from: string): Date => new Date(from)

/** The moment before which a period ends that is said to end with `to`: a day belongs to the period as a whole. */
export const periodEnd = (to: string): Date => new Date(Date.parse(to) + (DAY.test(to) ? MS_PER_DAY : 0))

/** The UTC day of a moment, as `2027-01-31`. */
export const utcDay = (moment: Date): string => moment.toISOString().slice(0, 10)
