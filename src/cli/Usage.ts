import { Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { answer, given } from "./Answer.ts"
import { connectionFlags } from "./Connection.ts"
import { table } from "./Table.ts"

const Report = Schema.Struct({
  organizationId: Schema.String,
  from: Schema.String,
  to: Schema.String,
  charges: Schema.Int,
  creditsUsed: Schema.Finite,
  rows: Schema.Array(
    Schema.Struct({
      day: Schema.String,
      operation: Schema.String,
      model: Schema.NullOr(Schema.String),
      charges: Schema.Int,
      creditsUsed: Schema.Finite
    })
  )
})

const showReport = ({ charges, creditsUsed, rows }: typeof Report.Type): string =>
  table(
    ["DAY", "OPERATION", "MODEL", "CHARGES", "CREDITS"],
    [
      ...rows.map((row) => [row.day, row.operation, row.model ?? "-", row.charges, row.creditsUsed]),
      ["all", "all", "all", charges, creditsUsed]
    ]
  )

const text = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

export const usage = Command.make(
  "usage",
  {
    ...connectionFlags,
    from: text("from", "First UTC day, or a time (30 days with today)"),
    to: text("to", "Last UTC day, or a time (today)"),
    organization: text("organization", "Organization, if it is not the key's own (operators)")
  },
  ({ from, organization, to, ...flags }) =>
    answer(flags, {
      query: `query ($from: String, $to: String, $organizationId: String) {
        usage(from: $from, to: $to, organizationId: $organizationId) {
          organizationId from to charges creditsUsed rows { day operation model charges creditsUsed } } }`,
      variables: given({ from, to, organizationId: organization }),
      schema: Schema.Struct({ usage: Report }),
      show: ({ usage }) => showReport(usage)
    })
).pipe(Command.withDescription("What an organization used, by day, operation and model"))
