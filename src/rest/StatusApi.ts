import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Status } from "../domain/Status.ts"

export class StatusApi extends HttpApiGroup.make("status", { topLevel: true })
  .add(
    HttpApiEndpoint.get("status", "/v1/", { success: Status }).annotateMerge(
      OpenApi.annotations({
        summary: "Status check",
        description: "Name, version and health of the service. Not counted."
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Status" })) {}
