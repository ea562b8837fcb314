import { Effect } from "effect"
import { Caller } from "../accounts/Authentication.ts"
import { Organizations } from "../accounts/Organizations.ts"
import { OrganizationId } from "../domain/Ids.ts"
import type { NewOrganization } from "../domain/Key.ts"
import type { CreateOrganizationRequest, OrganizationLimits, SetLimitsRequest } from "../domain/Organization.ts"
import { toIssuedKey } from "./Keys.ts"
import * as Metered from "./Metered.ts"

/** Makes an organization with credits and a first key, whose secret is shown this once. */
export const createOrganization = Metered.free({
  operation: "create_organization",
  scope: "operator",
  run: Effect.fnUntraced(function* ({ credits, id, name }: CreateOrganizationRequest) {
    const made = yield* (yield* Organizations).create(yield* Caller, { id, name, credits })
    return { id: made.id, name: made.name, ...toIssuedKey(made) } satisfies NewOrganization
  })
})

/** Sets how many calls an organization may make; what is left out is what the installation gives everyone. */
export const setLimits = Metered.free({
  operation: "set_limits",
  scope: "operator",
  run: Effect.fnUntraced(function* ({ organization_id, per_day, per_minute }: SetLimitsRequest) {
    const organization = OrganizationId.make(organization_id)
    const limits = { perMinute: per_minute, perDay: per_day }
    const { perDay, perMinute } = yield* (yield* Organizations).setLimits(organization, limits)
    return { organization_id, per_minute: perMinute, per_day: perDay } satisfies OrganizationLimits
  })
})
