import { Effect } from "effect"
import { Caller } from "../accounts/Authentication.ts"
import { Credits } from "../accounts/Credits.ts"
import * as Metered from "./Metered.ts"

/** The balance of the organization's credit pool. */
export const credits = Metered.free({
  operation: "credits",
  scope: "admin",
  run: Effect.fnUntraced(function* () {
    const { organizationId } = yield* Caller
    return yield* (yield* Credits).balance(organizationId)
  })
})
