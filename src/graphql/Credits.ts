import { CreditBalance } from "../domain/Account.ts"
import { credits } from "../operations/Credits.ts"
import { builder } from "./Builder.ts"
import { outputType } from "./DerivedTypes.ts"

builder.queryField("credits", (t) =>
  t.field({
    description: "The credit pool of the caller's organization. Free; needs the scope `admin`.",
    type: outputType(CreditBalance),
    nullable: true,
    resolve: (_, __, { run }) => run(credits())
  })
)
