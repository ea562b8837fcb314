import { Effect, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { CommandFailed, type Connection } from "./Connection.ts"
import { printable } from "./Table.ts"

const TIMEOUT = "30 seconds"

const Answer = Schema.Struct({
  data: Schema.optionalKey(Schema.Unknown),
  errors: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        message: Schema.String,
        extensions: Schema.optionalKey(
          Schema.Struct({
            code: Schema.optionalKey(Schema.String),
            details: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })))
          })
        )
      })
    )
  )
})

type ServerError = NonNullable<typeof Answer.Type.errors>[number]

const describe = ({ extensions, message }: ServerError): string =>
  [
    message,
    ...(extensions?.details ?? []).map((detail) => `${detail.path}: ${detail.message}`),
    ...(extensions?.code === undefined ? [] : [`(${extensions.code})`])
  ].join(" ")

const failed = (message: string) => new CommandFailed({ message: printable(message) })

/** Posts a document. Whatever the status, the body tells what went wrong. */
const post = Effect.fnUntraced(
  function* ({ key, url }: Connection, body: object) {
    const client = yield* HttpClient.HttpClient
    const response = yield* HttpClientRequest.post(`${url}/graphql`).pipe(
      HttpClientRequest.bearerToken(key),
      HttpClientRequest.acceptJson,
      HttpClientRequest.bodyJsonUnsafe(body),
      client.execute,
      Effect.mapError(() => failed(`Cannot reach ${url}: is the server running?`))
    )
    return yield* Effect.mapError(response.json, () =>
      failed(`${url} does not answer as Sluice does (${response.status})`)
    )
  },
  (effect, { url }) =>
    Effect.timeoutOrElse(effect, {
      duration: TIMEOUT,
      orElse: () => failed(`${url} did not answer within ${TIMEOUT}`)
    }),
  Effect.provide(FetchHttpClient.layer)
)

/** Asks a running server and answers what is under `data`. */
export const ask = Effect.fnUntraced(function* <Data>(
  connection: Connection,
  schema: Schema.Codec<Data, unknown>,
  query: string,
  variables: Readonly<Record<string, unknown>>
) {
  const otherVersion = () => failed(`${connection.url} answers in a form that this version does not know`)
  const body = yield* post(connection, { query, variables })
  const { data, errors = [] } = yield* Effect.mapError(Schema.decodeUnknownEffect(Answer)(body), otherVersion)
  if (errors.length > 0) return yield* failed(errors.map(describe).join("; "))
  return yield* Effect.mapError(Schema.decodeUnknownEffect(schema)(data), otherVersion)
})
