import { EmbedRequest, EmbedResult } from "../domain/Embed.ts"
import { embed } from "../operations/Embed.ts"
import { builder } from "./Builder.ts"
import { call } from "./Call.ts"
import { inputArgument, outputType } from "./DerivedTypes.ts"

builder.mutationField("embed", (t) =>
  t.field({
    description: "Turns texts into vectors. 0.5 credits per call.",
    type: outputType(EmbedResult),
    nullable: true,
    args: inputArgument(EmbedRequest),
    resolve: (_, { input }, { run }) => run(call(embed, EmbedRequest, input))
  })
)
