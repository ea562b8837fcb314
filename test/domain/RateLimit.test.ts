import { assert, describe, it } from "@effect/vitest"
import { type RateLimitState, rateLimitHeaders, retryAfterSeconds } from "../../src/domain/RateLimit.ts"

const state = (minuteRemaining: number, dayRemaining: number): RateLimitState => ({
  minute: { limit: 60, remaining: minuteRemaining, resetSeconds: 12.3 },
  day: { limit: 10_000, remaining: dayRemaining, resetSeconds: 3600 }
})

describe("RateLimit", () => {
  it("writes both quotas as the IETF draft's fields", () => {
    assert.deepStrictEqual(rateLimitHeaders(state(41, 9_999)), {
      "ratelimit-policy": '"minute";q=60;w=60,"day";q=10000;w=86400',
      ratelimit: '"minute";r=41;t=13,"day";r=9999;t=3600'
    })
  })

  it("tells to wait until every exhausted quota has come back, and never a fraction too short", () => {
    assert.strictEqual(retryAfterSeconds(state(1, 1)), 0)
    assert.strictEqual(retryAfterSeconds(state(0, 1)), 13)
    assert.strictEqual(retryAfterSeconds(state(0, 0)), 3600)
  })
})
