import { LedgerConnection, LedgerRequest, UsageReport, UsageRequest } from "../domain/Ledger.ts"
import { GrantCreditsRequest, OrganizationCredits, OrganizationRequest } from "../domain/Organization.ts"
import { credits, grantCredits } from "../operations/Credits.ts"
import { ledger, usage } from "../operations/Ledger.ts"
import { builder } from "./Builder.ts"
import { call } from "./Call.ts"
import { inputArgument, outputType, plainArguments } from "./DerivedTypes.ts"

builder.queryFields((t) => ({
  credits: t.field({
    description: "The credit pool of an organization. Free; needs the scope `admin`.",
    type: outputType(OrganizationCredits),
    nullable: true,
    args: plainArguments(OrganizationRequest),
    resolve: (_, args, { run }) => run(call(credits, OrganizationRequest, args))
  }),
  usage: t.field({
    description: "What an organization used, by day and operation. Free; needs the scope `admin`.",
    type: outputType(UsageReport),
    nullable: true,
    args: plainArguments(UsageRequest),
    resolve: (_, args, { run }) => run(call(usage, UsageRequest, args))
  })
}))

builder.objectField(outputType(OrganizationCredits), "ledger", (t) =>
  t.field({
    description: "Every grant and charge, the newest first. Free; needs the scope `admin`.",
    type: outputType(LedgerConnection),
    nullable: true,
    args: plainArguments(LedgerRequest),
    resolve: ({ organization_id }, args, { run }) =>
      run(call((page: LedgerRequest) => ledger({ of: organization_id, page }), LedgerRequest, args))
  })
)

builder.mutationField("grantCredits", (t) =>
  t.field({
    description: "Adds credits to a pool; the same `id` again adds nothing. Needs the scope `operator`.",
    type: outputType(OrganizationCredits),
    nullable: true,
    args: inputArgument(GrantCreditsRequest),
    resolve: (_, { input }, { run }) => run(call(grantCredits, GrantCreditsRequest, input))
  })
)
