import { Option, Predicate, Redacted, Schema } from "effect"
import {
  ModelNotFound,
  ModelRefused,
  ProviderError,
  ProviderFailed,
  ProviderOverloaded,
  ProviderTimeout
} from "./ProviderError.ts"
import type { Endpoint } from "./Vendor.ts"

/** The one mapping from what vendors' SDKs throw to `ProviderError`. */

/** The call that failed. */
export interface FailedCall {
  readonly endpoint: Endpoint
  readonly model: string
  /** The request field that most refusals are about. */
  readonly subject: "prompt" | "texts"
}

const ErrorObject = Schema.Struct({
  message: Schema.optionalKey(Schema.NullOr(Schema.String)),
  type: Schema.optionalKey(Schema.NullOr(Schema.String)),
  code: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Schema.Number]))),
  param: Schema.optionalKey(Schema.NullOr(Schema.String))
})

/** An answer that is an error, as both SDKs throw it. Some vendors nest the error object, some do not. */
const decodeAnswer = Schema.decodeUnknownOption(
  Schema.Struct({ status: Schema.Int, headers: Schema.instanceOf(Headers), error: Schema.Unknown })
)
const decodeNested = Schema.decodeUnknownOption(Schema.Struct({ error: ErrorObject }))
const decodeFlat = Schema.decodeUnknownOption(ErrorObject)

interface Refusal {
  readonly status: number
  readonly message: string
  readonly type: string
  readonly code: string
  readonly param: string
  readonly headers: Headers
}

const readRefusal = (error: unknown): Option.Option<Refusal> =>
  Option.map(decodeAnswer(error), ({ error: body, headers, status }) => {
    const nested = Option.map(decodeNested(body), (outer) => outer.error)
    const { code, message, param, type } = Option.getOrElse(
      Option.orElse(nested, () => decodeFlat(body)),
      (): typeof ErrorObject.Type => ({})
    )
    return { status, headers, message: message ?? "", type: type ?? "", code: String(code ?? ""), param: param ?? "" }
  })

const MAX_MESSAGE_LENGTH = 300

/** A vendor's words without our key, without identifiers of our account with the vendor, and short. */
const withoutSecrets = (text: string, { apiKey }: Endpoint): string =>
  text
    .replaceAll(Redacted.value(apiKey) || "\0", "[redacted]")
    .replace(/\b(?:sk|key|org|proj|acct|ws)[-_][\w*.-]{4,}/gi, "[redacted]")
    .slice(0, MAX_MESSAGE_LENGTH)

/**
 * What the log may know: no message of the vendor, which could repeat the prompt, and no headers, which carry the key.
 */
const logCause = (error: unknown, { endpoint }: FailedCall): Error => {
  const words = Option.match(readRefusal(error), {
    onSome: ({ code, headers, param, status, type }) => [
      `HTTP ${status}`,
      type,
      code,
      param,
      headers.get("x-request-id") ?? headers.get("request-id") ?? ""
    ],
    onNone: () => connectionWords(error)
  })
  return new Error(withoutSecrets(words.filter((word) => word !== "").join(" "), endpoint))
}

/** Names and codes of an error and of what caused it, for example `APIConnectionError Error ECONNREFUSED`. */
const connectionWords = (error: unknown, depth = 0): Array<string> => {
  if (!Predicate.isError(error) || depth > 3) return []
  const code = Predicate.hasProperty(error, "code") && Predicate.isString(error.code) ? error.code : ""
  return [error.constructor.name, code, ...connectionWords(error.cause, depth + 1)]
}

/** `Retry-After` in seconds or as a date, or the more exact `retry-after-ms` of some vendors. */
const readRetryAfterMs = (headers: Headers, now: number): number | undefined => {
  const exact = headers.get("retry-after-ms")
  const value = exact ?? headers.get("retry-after")
  if (value === null || value.trim() === "") return undefined
  const ms = exact === null ? Number(value) * 1000 : Number(value)
  const wait = Number.isNaN(ms) ? Date.parse(value) - now : ms
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined
}

const pathOfParam: ReadonlyMap<string, string> = new Map([
  ["temperature", "options.temperature"],
  ["max_tokens", "options.max_tokens"],
  ["max_completion_tokens", "options.max_tokens"],
  ["system", "options.system"],
  ["model", "model.name"],
  ["dimensions", "model.dimensions"],
  ["input", "texts"]
])

const isAboutAccount = ({ code, message, type }: Refusal): boolean =>
  /billing|credit balance|insufficient_quota|api.?key/i.test(`${code} ${type} ${message}`)

const isContextTooLong = ({ code, message }: Refusal): boolean =>
  code === "context_length_exceeded" || /maximum context length|context window|prompt is too long/i.test(message)

/** The call can be mended by the caller: says where, in our words or in the vendor's without secrets. */
const refusedReason = (refusal: Refusal, { endpoint, model, subject }: FailedCall): ModelRefused => {
  if (refusal.status === 413 || isContextTooLong(refusal)) {
    return new ModelRefused({ path: subject, message: `Expected less text; it does not fit what ${model} can read` })
  }
  const param = refusal.param || (/^([a-z_]+)[.:]/.exec(refusal.message)?.[1] ?? "")
  return new ModelRefused({
    path: pathOfParam.get(param) ?? subject,
    message: withoutSecrets(refusal.message, endpoint) || `Expected what ${model} accepts`
  })
}

const reasonOfRefusal = (refusal: Refusal, call: FailedCall, now: number): ProviderError["reason"] => {
  const { code, message, status } = refusal
  const isMissingModel = status === 404 && /model/i.test(`${code} ${message}`)
  if (code === "model_not_found" || isMissingModel) return new ModelNotFound({ model: call.model })
  if (isAboutAccount(refusal)) return new ProviderFailed({ status })
  switch (status) {
    case 400:
    case 413:
    case 422:
      return refusedReason(refusal, call)
    case 408:
    case 504:
      return new ProviderTimeout()
    case 429:
    case 503:
    case 529: {
      const retryAfterMs = readRetryAfterMs(refusal.headers, now)
      return new ProviderOverloaded(retryAfterMs === undefined ? {} : { retryAfterMs })
    }
    default:
      return new ProviderFailed({ status })
  }
}

const reasonOfBrokenCall = (error: unknown): ProviderError["reason"] => {
  // By its name, which all SDKs share: an SDK is loaded only where its vendor is configured.
  if (Predicate.isError(error) && error.constructor.name === "APIConnectionTimeoutError") return new ProviderTimeout()
  // The whole answer came, and it is not the JSON that it says it is.
  if (error instanceof SyntaxError) return new ProviderFailed({ status: 200 })
  return new ProviderFailed({})
}

/** Maps what an SDK threw; `now` in ms resolves a `Retry-After` that is a date. */
export const fromThrown = (error: unknown, call: FailedCall, now: number): ProviderError =>
  new ProviderError({
    provider: call.endpoint.provider,
    reason: Option.match(readRefusal(error), {
      onSome: (refusal) => reasonOfRefusal(refusal, call, now),
      onNone: () => reasonOfBrokenCall(error)
    }),
    cause: logCause(error, call)
  })

/** The vendor said that all is well and sent something else than what it documents. */
export const unreadable = (provider: string, what: string): ProviderError =>
  new ProviderError({ provider, reason: new ProviderFailed({ status: 200 }), cause: new Error(what) })
