import { Schema } from "effect"

export const Status = Schema.Struct({
  name: Schema.String.annotate({ description: "Name of the service." }),
  version: Schema.String.annotate({ description: "Version of the service." }),
  status: Schema.Literal("healthy").annotate({ description: "Health of the service." }),
  timestamp: Schema.String.annotate({ description: "Time of the answer, ISO 8601 in UTC." })
}).annotate({ identifier: "Status", description: "Name, version and health of the service." })
export type Status = typeof Status.Type
