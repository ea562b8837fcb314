import type { MessageCreateParamsNonStreaming } from "@anthropic-ai/sdk/resources/messages"
import { Effect, Option, Redacted, Schema } from "effect"
import type { FinishReason } from "../domain/Generate.ts"
import type { Usage } from "../domain/Model.ts"
import type { GenerateCall } from "./LanguageModels.ts"
import { leanFetch } from "./LeanFetch.ts"
import { countedUsage, TokenCount, usageOf } from "./MeasuredUsage.ts"
import { sdkCall } from "./SdkCall.ts"
import type { Endpoint, Generate } from "./Vendor.ts"
import { unreadable } from "./VendorFailure.ts"

/** The Anthropic messages protocol. */

/** Our own attempt time-out interrupts a call long before; given here, it also allows long answers without streaming. */
const SDK_TIMEOUT_MS = 3_600_000

/** A client that takes nothing from the environment: no profile, no log, no traces, no retries of its own. */
const anthropicClient = Effect.fnUntraced(function* ({ apiKey, baseUrl }: Endpoint) {
  const { Anthropic } = yield* Effect.promise(() => import("@anthropic-ai/sdk"))
  return new Anthropic({
    apiKey: Redacted.value(apiKey),
    webhookKey: null,
    baseURL: baseUrl,
    fetch: leanFetch,
    logLevel: "off",
    maxRetries: 0,
    openTelemetry: false,
    timeout: SDK_TIMEOUT_MS
  })
})

const decodeMessage = Schema.decodeUnknownOption(
  Schema.Struct({
    content: Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optionalKey(Schema.Unknown) })),
    stop_reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
    usage: Schema.optionalKey(Schema.Unknown)
  })
)

const CacheTokens = Schema.optionalKey(Schema.NullOr(TokenCount))
const VendorUsage = Schema.Struct({
  input_tokens: TokenCount,
  output_tokens: TokenCount,
  cache_creation_input_tokens: CacheTokens,
  cache_read_input_tokens: CacheTokens
})
const decodeUsage = Schema.decodeUnknownOption(VendorUsage)

/** What the vendor's cache wrote or read is part of the prompt. */
const vendorUsage = (usage: typeof VendorUsage.Type): Usage =>
  usageOf(
    usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0),
    usage.output_tokens
  )

const finishReasonOf = (stopReason: string | null | undefined): FinishReason => {
  switch (stopReason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length"
    case "refusal":
      return "content_filter"
    default:
      return "stop"
  }
}

/** The API version that the SDK speaks refuses sampling parameters, so there is no temperature to send. */
const toParams = (model: string, { maxTokens, prompt, system }: GenerateCall): MessageCreateParamsNonStreaming => ({
  model,
  max_tokens: maxTokens,
  messages: [{ role: "user", content: prompt }],
  ...(system === undefined || system === "" ? {} : { system })
})

const warningsFor = ({ temperature }: GenerateCall, model: string): ReadonlyArray<string> =>
  temperature === undefined ? [] : [`${model} has no temperature: options.temperature was left out.`]

export const anthropicMessages = Effect.fnUntraced(function* (endpoint: Endpoint) {
  const client = yield* anthropicClient(endpoint)
  const generate: Generate = Effect.fnUntraced(function* (model, call) {
    const answer = yield* sdkCall({ endpoint, model, subject: "prompt" }, (signal) =>
      client.messages.create(toParams(model, call), { signal })
    )
    const message = decodeMessage(answer)
    if (Option.isNone(message)) return yield* unreadable(endpoint.provider, "Not a message")
    const usage = decodeUsage(message.value.usage)
    const text = message.value.content
      .map((block) => (block.type === "text" && typeof block.text === "string" ? block.text : ""))
      .join("")
    return {
      text,
      finishReason: finishReasonOf(message.value.stop_reason),
      usage: Option.isSome(usage) ? vendorUsage(usage.value) : yield* countedUsage(call, text),
      warnings: warningsFor(call, model)
    }
  })
  return generate
})
