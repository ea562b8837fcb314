import { Effect, Option, Schema } from "effect"
import { openAiClient } from "./OpenAiChat.ts"
import { sdkCall } from "./SdkCall.ts"
import type { Embed, Endpoint } from "./Vendor.ts"
import { unreadable } from "./VendorFailure.ts"

/** The OpenAI embeddings protocol, which many vendors and local servers speak. */

/** Vectors are checked number by number where they are used: a schema would cost more than the call. */
const decodeList = Schema.decodeUnknownOption(
  Schema.Struct({ data: Schema.Array(Schema.Struct({ index: Schema.Int, embedding: Schema.Unknown })) })
)

const isVector = (value: unknown): value is ReadonlyArray<number> =>
  Array.isArray(value) && value.every(Number.isFinite)

export const openAiEmbeddings = Effect.fnUntraced(function* (endpoint: Endpoint) {
  const client = yield* openAiClient(endpoint)
  const embed: Embed = Effect.fnUntraced(function* ({ dimensions, model, texts }) {
    const answer = yield* sdkCall({ endpoint, model, subject: "texts" }, (signal) =>
      client.embeddings.create(
        {
          model,
          input: [...texts],
          // Unless told otherwise the SDK asks for base64, which compatible servers may not speak.
          encoding_format: "float",
          ...(dimensions === undefined ? {} : { dimensions })
        },
        { signal }
      )
    )
    const list = decodeList(answer)
    if (Option.isNone(list)) return yield* unreadable(endpoint.provider, "Not a list of embeddings")
    const vectors = new Map(list.value.data.map(({ embedding, index }) => [index, embedding]))
    const ordered = texts.map((_, index) => vectors.get(index)).filter(isVector)
    return ordered.length === texts.length && vectors.size === texts.length
      ? ordered
      : yield* unreadable(endpoint.provider, "Not one embedding per text")
  })
  return embed
})
