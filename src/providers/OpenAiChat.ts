import { Effect, Option, Redacted, Schema } from "effect"
import type { ChatCompletionCreateParamsNonStreaming } from "openai/resources/chat/completions"
import type { FinishReason } from "../domain/Generate.ts"
import type { Usage } from "../domain/Model.ts"
import type { GenerateCall } from "./LanguageModels.ts"
import { leanFetch } from "./LeanFetch.ts"
import { countedUsage, TokenCount, usageOf } from "./MeasuredUsage.ts"
import { sdkCall } from "./SdkCall.ts"
import type { Endpoint, Generate } from "./Vendor.ts"
import { unreadable } from "./VendorFailure.ts"

/** The OpenAI chat completions protocol, which many vendors and local servers speak. */

/** Our own attempt time-out interrupts a call long before; the SDK's must only not come first. */
const SDK_TIMEOUT_MS = 3_600_000

/** A client that takes nothing from the environment: no organization, no log, no retries of its own. */
export const openAiClient = Effect.fnUntraced(function* ({ apiKey, baseUrl }: Endpoint) {
  const { OpenAI } = yield* Effect.promise(() => import("openai"))
  return new OpenAI({
    apiKey: Redacted.value(apiKey),
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: baseUrl,
    fetch: leanFetch,
    logLevel: "off",
    maxRetries: 0,
    timeout: SDK_TIMEOUT_MS
  })
})

const Completion = Schema.Struct({
  choices: Schema.NonEmptyArray(
    Schema.Struct({
      finish_reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
      message: Schema.Struct({
        content: Schema.optionalKey(Schema.NullOr(Schema.String)),
        refusal: Schema.optionalKey(Schema.NullOr(Schema.String))
      })
    })
  ),
  usage: Schema.optionalKey(Schema.Unknown)
})
const decodeCompletion = Schema.decodeUnknownOption(Completion)

const VendorUsage = Schema.Struct({
  prompt_tokens: TokenCount,
  completion_tokens: TokenCount,
  total_tokens: Schema.optionalKey(TokenCount)
})
const decodeUsage = Schema.decodeUnknownOption(VendorUsage)

/** Some vendors count tokens of thought in the total alone. */
const vendorUsage = ({ completion_tokens, prompt_tokens, total_tokens = 0 }: typeof VendorUsage.Type): Usage => ({
  ...usageOf(prompt_tokens, completion_tokens),
  total_tokens: Math.max(total_tokens, prompt_tokens + completion_tokens)
})

const finishReasonOf = (reason: string | null | undefined): FinishReason =>
  reason === "length" || reason === "content_filter" ? reason : "stop"

/** Quirks of the vendors that speak this protocol. */
export interface OpenAiChatQuirks {
  /** Older servers know only `max_tokens`. */
  readonly maxTokensParameter: "max_completion_tokens" | "max_tokens"
}

const toParams = (
  model: string,
  { maxTokens, prompt, system, temperature }: GenerateCall,
  { maxTokensParameter }: OpenAiChatQuirks
): ChatCompletionCreateParamsNonStreaming => ({
  model,
  messages: [
    ...(system === undefined || system === "" ? [] : [{ role: "system" as const, content: system }]),
    { role: "user", content: prompt }
  ],
  ...(temperature === undefined ? {} : { temperature }),
  [maxTokensParameter]: maxTokens
})

export const openAiChat = (quirks: OpenAiChatQuirks) =>
  Effect.fnUntraced(function* (endpoint: Endpoint) {
    const client = yield* openAiClient(endpoint)
    const generate: Generate = Effect.fnUntraced(function* (model, call) {
      const answer = yield* sdkCall({ endpoint, model, subject: "prompt" }, (signal) =>
        client.chat.completions.create(toParams(model, call, quirks), { signal })
      )
      const completion = decodeCompletion(answer)
      if (Option.isNone(completion)) return yield* unreadable(endpoint.provider, "Not a chat completion")
      const { finish_reason: reason, message } = completion.value.choices[0]
      const usage = decodeUsage(completion.value.usage)
      const text = message.content || (message.refusal ?? "")
      return {
        text,
        finishReason: message.refusal ? "content_filter" : finishReasonOf(reason),
        usage: Option.isSome(usage) ? vendorUsage(usage.value) : yield* countedUsage(call, text),
        warnings: []
      }
    })
    return generate
  })
