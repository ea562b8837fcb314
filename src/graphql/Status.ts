import { Status } from "../domain/Status.ts"
import { status } from "../operations/Status.ts"
import { builder } from "./Builder.ts"
import { outputType } from "./DerivedTypes.ts"

builder.queryField("status", (t) =>
  t.field({
    description: "Name, version and health of the service. Free, and not counted against the rate limits.",
    type: outputType(Status),
    nullable: true,
    resolve: (_, __, { run }) => run(status())
  })
)
