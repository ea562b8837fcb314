import { Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ALL_SCOPES } from "../domain/Account.ts"
import { answer, given } from "./Answer.ts"
import { connectionFlags } from "./Connection.ts"
import { table } from "./Table.ts"

const Time = Schema.NullOr(Schema.String)

const Key = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  scopes: Schema.Array(Schema.String),
  status: Schema.String,
  createdAt: Schema.String,
  expiresAt: Time,
  lastUsedAt: Time
})
type Key = typeof Key.Type

const KEY_FIELDS = "id name scopes status createdAt expiresAt lastUsedAt"

export const Issued = Schema.Struct({ secret: Schema.String, apiKey: Key })

export const ISSUED_FIELDS = `secret apiKey { ${KEY_FIELDS} }`

const showKeys = (keys: ReadonlyArray<Key>): string =>
  table(
    ["ID", "NAME", "SCOPES", "STATUS", "CREATED", "EXPIRES", "LAST USED"],
    keys.map(({ createdAt, expiresAt, id, lastUsedAt, name, scopes, status }) => [
      id,
      name,
      scopes.join(","),
      status,
      createdAt,
      expiresAt,
      lastUsedAt
    ])
  )

export const showIssued = ({ apiKey, secret }: typeof Issued.Type): string =>
  `${showKeys([apiKey])}\n\nThe key, which is shown this once:\n\n${secret}`

const keyId = Argument.String("id").pipe(Argument.withDescription("Id of the key, as `keys list` shows it"))

const expires = Flag.String("expires").pipe(
  Flag.withDescription("When the new key ends, such as 2027-01-01T00:00:00Z"),
  Flag.optional
)

const organization = Flag.String("organization").pipe(
  Flag.withDescription("Organization, if it is not the key's own (operators)"),
  Flag.optional
)

const create = Command.make(
  "create",
  {
    ...connectionFlags,
    name: Argument.String("name").pipe(Argument.withDescription("What the key is for")),
    scope: Flag.Literals("scope", ALL_SCOPES).pipe(
      Flag.withDescription("What the key may do; give it more than once for more"),
      Flag.atLeast(1)
    ),
    expires,
    perMinute: Flag.Int("per-minute").pipe(
      Flag.withDescription("Calls that the key may make in any 60 seconds"),
      Flag.optional
    ),
    organization
  },
  ({ expires, name, organization, perMinute, scope, ...flags }) =>
    answer(flags, {
      query: `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { ${ISSUED_FIELDS} } }`,
      variables: {
        input: { name, scopes: scope, ...given({ expiresAt: expires, organizationId: organization, perMinute }) }
      },
      schema: Schema.Struct({ createApiKey: Issued }),
      show: ({ createApiKey }) => showIssued(createApiKey)
    })
).pipe(Command.withDescription("Make a key and show it, this once"))

const list = Command.make("list", { ...connectionFlags, organization }, ({ organization, ...flags }) =>
  answer(flags, {
    query: `query ($organizationId: String) { apiKeys(organizationId: $organizationId) { ${KEY_FIELDS} } }`,
    variables: given({ organizationId: organization }),
    schema: Schema.Struct({ apiKeys: Schema.Array(Key) }),
    show: ({ apiKeys }) => showKeys(apiKeys)
  })
).pipe(Command.withDescription("List the keys of an organization, the latest first"))

const rotate = Command.make(
  "rotate",
  {
    ...connectionFlags,
    id: keyId,
    overlap: Flag.Int("overlap-seconds").pipe(
      Flag.withDescription("How long the old key goes on working (86400, a day)"),
      Flag.optional
    ),
    expires
  },
  ({ expires, id, overlap, ...flags }) =>
    answer(flags, {
      query: `mutation ($input: RotateApiKeyInput!) { rotateApiKey(input: $input) { ${ISSUED_FIELDS} } }`,
      variables: { input: { id, ...given({ expiresAt: expires, overlapSeconds: overlap }) } },
      schema: Schema.Struct({ rotateApiKey: Issued }),
      show: ({ rotateApiKey }) => showIssued(rotateApiKey)
    })
).pipe(Command.withDescription("Make a key in place of another one, which goes on working for a while"))

const revoke = Command.make("revoke", { ...connectionFlags, id: keyId }, ({ id, ...flags }) =>
  answer(flags, {
    query: `mutation ($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { ${KEY_FIELDS} } }`,
    variables: { input: { id } },
    schema: Schema.Struct({ revokeApiKey: Key }),
    show: ({ revokeApiKey }) => showKeys([revokeApiKey])
  })
).pipe(Command.withDescription("End a key, in every process within 5 seconds"))

export const keys = Command.make("keys").pipe(
  Command.withDescription("API keys of an organization"),
  Command.withSubcommands([create, list, rotate, revoke])
)
