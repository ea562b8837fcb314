import { Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { answer, given } from "./Answer.ts"
import { connectionFlags } from "./Connection.ts"
import { ISSUED_FIELDS, Issued, showIssued } from "./Keys.ts"
import { table } from "./Table.ts"

const create = Command.make(
  "create",
  {
    ...connectionFlags,
    name: Argument.String("name").pipe(Argument.withDescription("What to call it")),
    id: Flag.String("id").pipe(Flag.withDescription("Its id; made up without it"), Flag.optional),
    credits: Flag.Finite("credits").pipe(Flag.withDescription("Credits to start with (SLUICE_CREDITS)"), Flag.optional)
  },
  ({ credits, id, name, ...flags }) =>
    answer(flags, {
      query: `mutation ($input: CreateOrganizationInput!) { createOrganization(input: $input) { id name ${ISSUED_FIELDS} } }`,
      variables: { input: { name, ...given({ id, credits }) } },
      schema: Schema.Struct({
        createOrganization: Schema.Struct({ id: Schema.String, name: Schema.String, ...Issued.fields })
      }),
      show: ({ createOrganization: made }) =>
        `${table(["ORGANIZATION", "NAME"], [[made.id, made.name]])}\n\n${showIssued(made)}`
    })
).pipe(Command.withDescription("Make an organization with credits and a first key"))

export const organizations = Command.make("organizations").pipe(
  Command.withDescription("Organizations (operators)"),
  Command.withSubcommands([create])
)

const limit = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withDescription(`${description}; without it what the server gives everyone`), Flag.optional)

const set = Command.make(
  "set",
  {
    ...connectionFlags,
    organization: Argument.String("organization").pipe(Argument.withDescription("Whose limits")),
    perMinute: limit("per-minute", "Calls in any 60 seconds"),
    perDay: limit("per-day", "Calls per UTC day")
  },
  ({ organization, perDay, perMinute, ...flags }) =>
    answer(flags, {
      query: `mutation ($input: SetLimitsInput!) { setLimits(input: $input) { organizationId perMinute perDay } }`,
      variables: { input: { organizationId: organization, ...given({ perMinute, perDay }) } },
      schema: Schema.Struct({
        setLimits: Schema.Struct({ organizationId: Schema.String, perMinute: Schema.Int, perDay: Schema.Int })
      }),
      show: ({ setLimits }) =>
        table(
          ["ORGANIZATION", "PER MINUTE", "PER DAY"],
          [[setLimits.organizationId, setLimits.perMinute, setLimits.perDay]]
        )
    })
).pipe(Command.withDescription("Set an organization's rate limits"))

export const limits = Command.make("limits").pipe(
  Command.withDescription("Rate limits of organizations (operators)"),
  Command.withSubcommands([set])
)
