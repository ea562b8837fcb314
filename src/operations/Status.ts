import { DateTime, Effect } from "effect"
import packageJson from "../../package.json" with { type: "json" }
import type { Status } from "../domain/Status.ts"
import * as Metered from "./Metered.ts"

/** Tells that the service is there, and which version it is. */
export const status = Metered.free({
  operation: "status",
  scope: "invoke",
  counted: false,
  run: (): Effect.Effect<Status> =>
    Effect.map(DateTime.now, (now) => ({
      name: packageJson.name,
      version: packageJson.version,
      status: "healthy",
      timestamp: DateTime.formatIso(now)
    }))
})
