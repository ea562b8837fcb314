import { Effect } from "effect"
import { Caller } from "../accounts/Authentication.ts"
import { Credits } from "../accounts/Credits.ts"
import { Organizations } from "../accounts/Organizations.ts"
import { OrganizationId } from "../domain/Ids.ts"
import type { GrantCreditsRequest, OrganizationCredits, OrganizationRequest } from "../domain/Organization.ts"
import * as Metered from "./Metered.ts"

const poolOf = Effect.fnUntraced(function* (organization: OrganizationId) {
  const balance = yield* (yield* Credits).balance(organization)
  return { organization_id: organization, ...balance } satisfies OrganizationCredits
})

/** The credit pool of an organization. */
export const credits = Metered.free({
  operation: "credits",
  scope: "admin",
  run: Effect.fnUntraced(function* ({ organization_id }: OrganizationRequest) {
    return yield* poolOf(yield* (yield* Organizations).target(yield* Caller, organization_id))
  })
})

/** Adds credits to a pool, once for each grant id, and answers the pool. */
export const grantCredits = Metered.free({
  operation: "grant_credits",
  scope: "operator",
  run: Effect.fnUntraced(function* ({ credits, id, organization_id }: GrantCreditsRequest) {
    const organization = OrganizationId.make(organization_id)
    yield* (yield* Organizations).grant(organization, id, credits)
    return yield* poolOf(organization)
  })
})
