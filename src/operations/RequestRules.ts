import { Duration, Effect } from "effect"
import { ApiError } from "./ApiError.ts"
import { Deadline, MAX_DEADLINE_SECONDS } from "./Deadline.ts"

/** What both surfaces ask of a request beside its content: a JSON media type, and a deadline that makes sense. */
interface RequestHead {
  readonly method: string
  readonly headers: { readonly [name: string]: string | undefined }
}

const JSON_MEDIA_TYPE = /^application\/json\s*(?:;|$)/i

const checkMediaType = ({ headers, method }: RequestHead): Effect.Effect<void, ApiError> => {
  const { "content-encoding": contentEncoding = "identity", "content-type": contentType = "application/json" } = headers
  if (method !== "POST") return Effect.void
  if (contentEncoding.toLowerCase() !== "identity") {
    return new ApiError({ code: "unsupported_media_type", message: "Send the body without a Content-Encoding." })
  }
  return JSON_MEDIA_TYPE.test(contentType)
    ? Effect.void
    : new ApiError({ code: "unsupported_media_type", message: "Send the body as `Content-Type: application/json`." })
}

const parseDeadline = (value: string): Effect.Effect<Duration.Duration, ApiError> => {
  const seconds = /^\d{1,4}(?:\.\d{1,3})?$/.test(value) ? Number(value) : 0
  if (seconds > 0 && seconds <= MAX_DEADLINE_SECONDS) return Effect.succeed(Duration.seconds(seconds))
  const message = `Expected seconds, more than 0 and at most ${MAX_DEADLINE_SECONDS}`
  return new ApiError({
    code: "validation_failed",
    message: "The request does not fit the schema.",
    details: [{ path: "Request-Timeout", message }]
  })
}

/** Refuses a request that breaks the rules, and runs `effect` under the deadline that `Request-Timeout` sets. */
export const withRequestRules = <A, E, R>(
  request: RequestHead,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | ApiError, R> => {
  const timeout = request.headers["request-timeout"]
  const bounded =
    timeout === undefined
      ? effect
      : Effect.flatMap(parseDeadline(timeout), (deadline) => Effect.provideService(effect, Deadline, deadline))
  return Effect.andThen(checkMediaType(request), bounded)
}
