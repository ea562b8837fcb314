import { EmbedRequest, EmbedResult } from "../domain/Embed.ts"
import { embed } from "../operations/Embed.ts"
import { builder } from "./Builder.ts"
import { callPaid } from "./Call.ts"
import { outputType, paidArguments } from "./DerivedTypes.ts"

builder.mutationField("embed", (t) =>
  t.field({
    description: "Turns texts into vectors. 0.5 credits per call.",
    type: outputType(EmbedResult),
    nullable: true,
    args: paidArguments(EmbedRequest),
    resolve: (_, args, { run }) => run(callPaid(embed, EmbedRequest, args))
  })
)
