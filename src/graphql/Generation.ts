import { GenerateRequest, GenerateResult } from "../domain/Generate.ts"
import { generate } from "../operations/Generate.ts"
import { builder } from "./Builder.ts"
import { callPaid } from "./Call.ts"
import { outputType, paidArguments } from "./DerivedTypes.ts"

builder.mutationField("generate", (t) =>
  t.field({
    description: "Generates text from a prompt. 0.5 credits per 1,000 tokens.",
    type: outputType(GenerateResult),
    nullable: true,
    args: paidArguments(GenerateRequest),
    resolve: (_, args, { run }) => run(callPaid(generate, GenerateRequest, args))
  })
)
