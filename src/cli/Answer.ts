import { Console, Effect, Option, type Schema } from "effect"
import { type ConnectionFlags, resolveConnection } from "./Connection.ts"
import { ask } from "./GraphQlClient.ts"

/** What a command asks the server for, and how a person reads the answer. */
interface Question<Data> {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
  readonly schema: Schema.Codec<Data, unknown>
  readonly show: (data: Data) => string
}

/** Asks, and prints the answer as text, or as JSON when that is wanted. */
export const answer = Effect.fnUntraced(function* <Data>(
  flags: ConnectionFlags,
  { query, schema, show, variables }: Question<Data>
) {
  const data = yield* ask(yield* resolveConnection(flags), schema, query, variables)
  yield* Console.log(flags.json ? JSON.stringify(data, null, 2) : show(data))
})

/** Flags that were not given are variables that are not sent. */
export const given = (flags: Readonly<Record<string, Option.Option<unknown>>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(flags).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value]] : []))
  )
