import { randomUUID } from "node:crypto"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { LedgerKind } from "../domain/Ledger.ts"
import { answer, given } from "./Answer.ts"
import { connectionFlags } from "./Connection.ts"
import { table } from "./Table.ts"

const Pool = Schema.Struct({
  organizationId: Schema.String,
  balance: Schema.Finite,
  held: Schema.Finite,
  spent: Schema.Finite,
  granted: Schema.Finite
})
type Pool = typeof Pool.Type

const POOL_FIELDS = "organizationId balance held spent granted"

const Ledger = Schema.Struct({
  edges: Schema.Array(
    Schema.Struct({
      node: Schema.Struct({
        id: Schema.String,
        kind: LedgerKind,
        operation: Schema.String,
        operationId: Schema.String,
        amount: Schema.Finite,
        createdAt: Schema.String
      })
    })
  ),
  pageInfo: Schema.Struct({ hasNextPage: Schema.Boolean, endCursor: Schema.NullOr(Schema.String) })
})

const showPool = ({ balance, granted, held, organizationId, spent }: Pool): string =>
  table(["ORGANIZATION", "BALANCE", "HELD", "SPENT", "GRANTED"], [[organizationId, balance, held, spent, granted]])

const showLedger = ({ edges, pageInfo }: typeof Ledger.Type): string => {
  const entries = table(
    ["TIME", "KIND", "OPERATION", "CREDITS", "OPERATION ID"],
    edges.map(({ node }) => [node.createdAt, node.kind, node.operation, node.amount, node.operationId])
  )
  return pageInfo.hasNextPage ? `${entries}\n\nOlder entries: --after ${pageInfo.endCursor}` : entries
}

const text = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

const filters = {
  first: Flag.Int("first").pipe(Flag.withDescription("Entries per page (50)"), Flag.optional),
  after: text("after", "Begin after the entry with this cursor"),
  kind: Flag.Literals("kind", LedgerKind.literals).pipe(
    Flag.withDescription("Only entries of this kind"),
    Flag.optional
  ),
  operation: text("operation", "Only entries of this operation"),
  from: text("from", "Only entries from this UTC day or time on"),
  to: text("to", "Only entries up to the end of this UTC day, or before this time")
}

const LEDGER_QUERY = `query (
  $organizationId: String, $first: Int, $after: String, $kind: LedgerKind, $operation: String, $from: String, $to: String
) {
  credits(organizationId: $organizationId) { ${POOL_FIELDS}
    ledger(first: $first, after: $after, kind: $kind, operation: $operation, from: $from, to: $to) {
      edges { node { id kind operation operationId amount createdAt } } pageInfo { hasNextPage endCursor }
    }
  }
}`

const grant = Command.make(
  "grant",
  {
    ...connectionFlags,
    organization: Argument.String("organization").pipe(Argument.withDescription("Who gets them")),
    credits: Argument.Finite("credits").pipe(Argument.withDescription("How many")),
    id: text("id", "Names the grant, an invoice for example: the same id again grants nothing more")
  },
  ({ credits, id, organization, ...flags }) =>
    Effect.suspend(() =>
      answer(flags, {
        query: `mutation ($input: GrantCreditsInput!) { grantCredits(input: $input) { ${POOL_FIELDS} } }`,
        variables: { input: { organizationId: organization, credits, id: Option.getOrElse(id, () => randomUUID()) } },
        schema: Schema.Struct({ grantCredits: Pool }),
        show: ({ grantCredits }) => showPool(grantCredits)
      })
    )
).pipe(Command.withDescription("Add credits to an organization's pool (operators)"))

export const credits = Command.make(
  "credits",
  {
    ...connectionFlags,
    organization: text("organization", "Organization, if it is not the key's own (operators)"),
    ledger: Flag.Boolean("ledger").pipe(
      Flag.withDescription("Show the ledger, the newest entry first"),
      Flag.withDefault(false)
    ),
    ...filters
  },
  ({ after, first, from, json, key, kind, ledger, operation, organization, to, url }) =>
    ledger
      ? answer(
          { json, key, url },
          {
            query: LEDGER_QUERY,
            variables: given({ organizationId: organization, first, after, kind, operation, from, to }),
            schema: Schema.Struct({ credits: Schema.Struct({ ...Pool.fields, ledger: Ledger }) }),
            show: ({ credits }) => `${showPool(credits)}\n\n${showLedger(credits.ledger)}`
          }
        )
      : answer(
          { json, key, url },
          {
            query: `query ($organizationId: String) { credits(organizationId: $organizationId) { ${POOL_FIELDS} } }`,
            variables: given({ organizationId: organization }),
            schema: Schema.Struct({ credits: Pool }),
            show: ({ credits }) => showPool(credits)
          }
        )
).pipe(Command.withDescription("The credit pool of an organization, and its ledger"), Command.withSubcommands([grant]))
