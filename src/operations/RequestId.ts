import { Context } from "effect"

/** The id of the HTTP exchange under way, as in `x-request-id`; empty outside of one. */
export const CurrentRequestId = Context.Reference<string>("sluice/operations/RequestId", { defaultValue: () => "" })
