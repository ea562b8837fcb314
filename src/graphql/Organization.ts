import { NewOrganization } from "../domain/Key.ts"
import { CreateOrganizationRequest, OrganizationLimits, SetLimitsRequest } from "../domain/Organization.ts"
import { createOrganization, setLimits } from "../operations/Organizations.ts"
import { builder } from "./Builder.ts"
import { call } from "./Call.ts"
import { inputArgument, outputType } from "./DerivedTypes.ts"

builder.mutationFields((t) => ({
  createOrganization: t.field({
    description: "Makes an organization with credits and a first key. Needs the scope `operator`.",
    type: outputType(NewOrganization),
    nullable: true,
    args: inputArgument(CreateOrganizationRequest),
    resolve: (_, { input }, { run }) => run(call(createOrganization, CreateOrganizationRequest, input))
  }),
  setLimits: t.field({
    description: "Sets how many calls an organization may make. Needs the scope `operator`.",
    type: outputType(OrganizationLimits),
    nullable: true,
    args: inputArgument(SetLimitsRequest),
    resolve: (_, { input }, { run }) => run(call(setLimits, SetLimitsRequest, input))
  })
}))
