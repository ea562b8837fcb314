/** How many calls an organization may make: in any 60 seconds, and per UTC day. */
export interface RateLimits {
  readonly perMinute: number
  readonly perDay: number
}

/** One quota and how much of it is left; `resetSeconds` until some of it comes back. */
export interface Quota {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
}

/** Both quotas of an organization at one moment. */
export interface RateLimitState {
  readonly minute: Quota
  readonly day: Quota
}

/** What two quotas for the same time leave together. */
export const narrower = (one: Quota, other: Quota): Quota => ({
  limit: Math.min(one.limit, other.limit),
  remaining: Math.min(one.remaining, other.remaining),
  resetSeconds:
    one.remaining === other.remaining
      ? Math.max(one.resetSeconds, other.resetSeconds)
      : one.remaining < other.remaining
        ? one.resetSeconds
        : other.resetSeconds
})

/** Whole seconds, rounded up, after which a refused call is admitted; 0 while calls are admitted. */
export const retryAfterSeconds = ({ day, minute }: RateLimitState): number =>
  Math.ceil(Math.max(day.remaining > 0 ? 0 : day.resetSeconds, minute.remaining > 0 ? 0 : minute.resetSeconds))

/**
 * The response fields that tell a client about its quotas.
 *
 * Source: draft-ietf-httpapi-ratelimit-headers-10, "RateLimit-Policy" and "RateLimit".
 */
export const rateLimitHeaders = ({ day, minute }: RateLimitState): Record<string, string> => ({
  "ratelimit-policy": `"minute";q=${minute.limit};w=60,"day";q=${day.limit};w=86400`,
  ratelimit: [
    `"minute";r=${minute.remaining};t=${Math.ceil(minute.resetSeconds)}`,
    `"day";r=${day.remaining};t=${Math.ceil(day.resetSeconds)}`
  ].join(",")
})
