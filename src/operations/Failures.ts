import { Cause, Effect, Match, Option, type Schema, SchemaIssue } from "effect"
import type { Forbidden, Unauthorized } from "../accounts/Authentication.ts"
import type {
  IdempotencyInProgress,
  IdempotencyMismatch,
  InsufficientCredits,
  RateLimited
} from "../accounts/Credits.ts"
import type { Overloaded } from "../accounts/GroupCommit.ts"
import { retryAfterSeconds } from "../domain/RateLimit.ts"
import { toCredits } from "../domain/Tariff.ts"
import type { ProviderError } from "../providers/ProviderError.ts"
import type { KeyRefused } from "../store/KeyStore.ts"
import type { OrganizationRefused } from "../store/OrganizationStore.ts"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"
import type { CollectionNotFound, EmbeddingMismatch, EmbeddingSpace } from "../store/VectorStore.ts"
import { ApiError } from "./ApiError.ts"
import type { DeadlineExceeded } from "./Deadline.ts"

/** Everything that an operation may fail with. */
export type OperationFailure =
  | CollectionNotFound
  | DeadlineExceeded
  | EmbeddingMismatch
  | Forbidden
  | IdempotencyInProgress
  | IdempotencyMismatch
  | InsufficientCredits
  | KeyRefused
  | OrganizationRefused
  | Overloaded
  | ProviderError
  | RateLimited
  | StoreUnavailable
  | Unauthorized

/** When it is worth trying again what is in the way only for a moment. */
const SHORTLY_SECONDS = 1

const providerFailure = ({ provider, reason }: ProviderError): ApiError =>
  Match.value(reason).pipe(
    Match.tagsExhaustive({
      ProviderNotConfigured: ({ configured }) =>
        new ApiError({
          code: "provider_not_configured",
          message: `The provider ${JSON.stringify(provider)} is not configured here. Configured: ${configured.join(", ")}.`,
          details: [{ path: "model.provider", message: `Expected one of ${configured.join(", ")}` }]
        }),
      ModelNotFound: ({ model }) =>
        new ApiError({
          code: "model_not_found",
          message: `${provider} has no model ${JSON.stringify(model)}.`,
          details: [{ path: "model.name", message: `Expected a model of ${provider}` }]
        }),
      ModelRefused: ({ message, path }) =>
        new ApiError({
          code: "validation_failed",
          message: "The model refused the request.",
          details: [{ path, message }]
        }),
      ProviderOverloaded: ({ retryAfterMs }) =>
        new ApiError({
          code: "provider_overloaded",
          message: `${provider} is overloaded or limits our rate. Try again later.`,
          ...(retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.ceil(retryAfterMs / 1000) })
        }),
      ProviderTimeout: () =>
        new ApiError({ code: "provider_timeout", message: `${provider} did not answer in time. Try again.` }),
      ProviderFailed: () =>
        new ApiError({ code: "provider_error", message: `${provider} failed to serve the call. Try again.` })
    })
  )

const unauthorized = () =>
  new ApiError({ code: "unauthorized", message: "Send a valid API key: `Authorization: Bearer <API_KEY>`." })

const organizationNotFound = () =>
  new ApiError({ code: "organization_not_found", message: "There is no such organization." })

const keyFailure = ({ reason }: KeyRefused): ApiError =>
  Match.value(reason).pipe(
    Match.when("actor_ended", unauthorized),
    Match.when("no_organization", organizationNotFound),
    Match.when("not_found", () => new ApiError({ code: "key_not_found", message: "There is no such key." })),
    Match.when(
      "not_active",
      () => new ApiError({ code: "key_inactive", message: "The key is expired or revoked. Create another one." })
    ),
    Match.when(
      "already_rotated",
      () => new ApiError({ code: "key_inactive", message: "The key was rotated before. Rotate its successor." })
    ),
    Match.when(
      "last_admin",
      () =>
        new ApiError({
          code: "last_admin_key",
          message:
            "This is the organization's last key that can manage keys. Create another one with the scope admin first."
        })
    ),
    Match.when(
      "expiry_past",
      () =>
        new ApiError({
          code: "validation_failed",
          message: "The request does not fit the schema.",
          details: [{ path: "expires_at", message: "Expected a time to come" }]
        })
    ),
    Match.exhaustive
  )

const organizationFailure = ({ reason }: OrganizationRefused): ApiError =>
  Match.value(reason).pipe(
    Match.when("not_found", organizationNotFound),
    Match.when(
      "exists",
      () => new ApiError({ code: "organization_exists", message: "There is an organization of that id." })
    ),
    Match.when(
      "grant_mismatch",
      () => new ApiError({ code: "idempotency_mismatch", message: "A grant of that id had another amount." })
    ),
    Match.when(
      "too_many_credits",
      () =>
        new ApiError({
          code: "validation_failed",
          message: "The request does not fit the schema.",
          details: [{ path: "credits", message: "Expected no more than a pool can hold, 9,000,000,000 in all" }]
        })
    ),
    Match.exhaustive
  )

const spaceName = ({ dimensions, model, provider }: EmbeddingSpace): string => `${provider}/${model} (${dimensions})`

/** What callers see of a failure. */
export const toApiError = (failure: OperationFailure): ApiError =>
  Match.value(failure).pipe(
    Match.tagsExhaustive({
      CollectionNotFound: ({ collection }) =>
        new ApiError({
          code: "collection_not_found",
          message: `There is no collection ${JSON.stringify(collection)}. Index a document to create it.`
        }),
      DeadlineExceeded: ({ seconds }) =>
        new ApiError({
          code: "provider_timeout",
          message: `The call took longer than its deadline of ${seconds} seconds. Allow more with Request-Timeout.`
        }),
      EmbeddingMismatch: ({ actual, collection, expected }) =>
        new ApiError({
          code: "embedding_mismatch",
          message: `The collection ${JSON.stringify(collection)} holds embeddings of ${spaceName(expected)}, not of ${spaceName(actual)}.`,
          details: [{ path: "model", message: `Expected ${spaceName(expected)}` }]
        }),
      Forbidden: ({ required }) =>
        new ApiError({ code: "forbidden", message: `This key lacks the scope "${required}".` }),
      IdempotencyInProgress: () =>
        new ApiError({
          code: "idempotency_in_progress",
          message: "The first call with this idempotency key is still running. Retry to get its answer.",
          retryAfterSeconds: SHORTLY_SECONDS
        }),
      IdempotencyMismatch: () =>
        new ApiError({
          code: "idempotency_mismatch",
          message: "This idempotency key was used for another request. Use a new key for each request."
        }),
      InsufficientCredits: ({ availableMicro, requiredMicro }) =>
        new ApiError({
          code: "insufficient_credits",
          message: "The organization's credits do not cover what this call could cost.",
          details: [
            { path: "required", message: String(toCredits(requiredMicro)) },
            { path: "available", message: String(toCredits(availableMicro)) }
          ]
        }),
      KeyRefused: keyFailure,
      OrganizationRefused: organizationFailure,
      Overloaded: () =>
        new ApiError({
          code: "overloaded",
          message: "Too many calls are waiting. Try again shortly.",
          retryAfterSeconds: SHORTLY_SECONDS
        }),
      ProviderError: providerFailure,
      RateLimited: ({ rateLimits }) =>
        new ApiError({
          code: "rate_limited",
          message: "The organization made all the calls that it may for now. Retry after the time given.",
          retryAfterSeconds: retryAfterSeconds(rateLimits)
        }),
      StoreUnavailable: () =>
        new ApiError({
          code: "unavailable",
          message: "The service cannot reach its database. Try again shortly.",
          retryAfterSeconds: SHORTLY_SECONDS
        }),
      Unauthorized: unauthorized
    })
  )

const internalError = () => new ApiError({ code: "internal", message: "Something went wrong on our side." })

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** The places that one error names at most; a body of megabytes can hold millions that do not fit. */
export const MAX_DETAILS = 100

/** A request that does not fit its schema: one detail per place, the path in dots (`options.max_tokens`). */
export const validationError = ({ issue }: Schema.SchemaError): ApiError =>
  new ApiError({
    code: "validation_failed",
    message: "The request does not fit the schema.",
    details: formatIssue(issue)
      .issues.slice(0, MAX_DETAILS)
      .map(({ message, path = [] }) => ({
        path: path.map((segment) => String(typeof segment === "object" ? segment.key : segment)).join("."),
        message
      }))
  })

/** Failures whose cause only the log may know. */
const logCause = (failure: OperationFailure): Effect.Effect<void> =>
  (failure._tag === "ProviderError" || failure._tag === "StoreUnavailable") && failure.cause !== undefined
    ? Effect.logWarning(`${failure._tag} ${failure._tag === "ProviderError" ? failure.reason._tag : ""}`, failure.cause)
    : Effect.void

/**
 * Turns every failure of `effect`, bugs too, into what callers see, and writes to the log what they must not see.
 * Interruption passes through.
 */
export const asApiError = <A, E extends OperationFailure | ApiError, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, ApiError, R> =>
  Effect.catchCause(effect, (cause) => {
    const failure: Option.Option<OperationFailure | ApiError> = Cause.findErrorOption(cause)
    if (Option.isSome(failure)) {
      if (failure.value._tag === "ApiError") return Effect.fail(failure.value)
      return Effect.andThen(logCause(failure.value), Effect.fail(toApiError(failure.value)))
    }
    if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
    return Effect.andThen(Effect.logError("A bug", cause), Effect.fail(internalError()))
  })
