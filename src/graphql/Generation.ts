import { GenerateRequest, GenerateResult } from "../domain/Generate.ts"
import { generate } from "../operations/Generate.ts"
import { builder } from "./Builder.ts"
import { call } from "./Call.ts"
import { inputArgument, outputType } from "./DerivedTypes.ts"

builder.mutationField("generate", (t) =>
  t.field({
    description: "Generates text from a prompt. 0.5 credits per 1,000 tokens.",
    type: outputType(GenerateResult),
    nullable: true,
    args: inputArgument(GenerateRequest),
    resolve: (_, { input }, { run }) => run(call(generate, GenerateRequest, input))
  })
)
