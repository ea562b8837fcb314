import { Console, Effect, Option } from "effect"
import { HttpServer } from "effect/http"

/** Also the local provider, which is no language model, has an answer to it. */
const PROMPT = "Context: Sluice is a gateway for AI. It keeps a ledger of credits.\n\nQuestion: What does Sluice keep?"

/** What the terminal shows at a start: where the server is, where the key is, and a call that works when pasted. */
export const welcome = Effect.fnUntraced(function* (keyFile: Option.Option<string>) {
  const { address } = yield* HttpServer.HttpServer
  const url = HttpServer.formatAddress(address)
  const key = Option.match(keyFile, { onNone: () => "$SLUICE_BOOTSTRAP_KEY", onSome: (file) => `$(cat '${file}')` })
  yield* Console.log(
    [
      "",
      `Sluice listens on ${url}`,
      ...Option.match(keyFile, { onNone: () => [], onSome: (file) => [`Your API key is in ${file}`] }),
      "",
      "Try it:",
      "",
      `curl -s ${url}/v1/generate -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '${JSON.stringify({ prompt: PROMPT })}'`,
      "",
      `API reference  ${url}/docs`,
      `GraphQL        ${url}/graphql`,
      ""
    ].join("\n")
  )
})
