import { Data } from "effect"

interface CodeEntry {
  readonly status: number
  /** Whether the same call may succeed later without a change. */
  readonly retryable: boolean
}

/** Every error code of the public contract, with its HTTP status. */
export const errorCodes = {
  invalid_json: { status: 400, retryable: false },
  validation_failed: { status: 400, retryable: false },
  provider_not_configured: { status: 400, retryable: false },
  unauthorized: { status: 401, retryable: false },
  insufficient_credits: { status: 402, retryable: false },
  forbidden: { status: 403, retryable: false },
  not_found: { status: 404, retryable: false },
  key_not_found: { status: 404, retryable: false },
  organization_not_found: { status: 404, retryable: false },
  collection_not_found: { status: 404, retryable: false },
  model_not_found: { status: 404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  embedding_mismatch: { status: 409, retryable: false },
  key_inactive: { status: 409, retryable: false },
  last_admin_key: { status: 409, retryable: false },
  organization_exists: { status: 409, retryable: false },
  idempotency_in_progress: { status: 409, retryable: true },
  payload_too_large: { status: 413, retryable: false },
  unsupported_media_type: { status: 415, retryable: false },
  idempotency_mismatch: { status: 422, retryable: false },
  request_timeout: { status: 408, retryable: true },
  rate_limited: { status: 429, retryable: true },
  headers_too_large: { status: 431, retryable: false },
  internal: { status: 500, retryable: false },
  provider_error: { status: 502, retryable: true },
  provider_overloaded: { status: 503, retryable: true },
  overloaded: { status: 503, retryable: true },
  unavailable: { status: 503, retryable: true },
  provider_timeout: { status: 504, retryable: true }
} as const satisfies Record<string, CodeEntry>

export type ErrorCode = keyof typeof errorCodes

/** A detail of an error: where in the request, and what is wrong there. */
export interface ErrorDetail {
  readonly path: string
  readonly message: string
}

/** The body of an error as callers see it, the same over REST (`error`) and GraphQL (`extensions`). */
export interface ErrorBody {
  readonly code: ErrorCode
  readonly message: string
  readonly status: number
  readonly retryable: boolean
  readonly request_id: string
  readonly details?: ReadonlyArray<ErrorDetail>
}

/** A failure as callers see it: what both surfaces write, and all that they write. Causes go to the log. */
export class ApiError extends Data.TaggedError("ApiError")<{
  readonly code: ErrorCode
  readonly message: string
  readonly details?: ReadonlyArray<ErrorDetail>
  /** Whole seconds after which a retry can succeed. */
  readonly retryAfterSeconds?: number
  /** The exchange in which a client received it. */
  readonly requestId?: string
}> {
  get status(): number {
    return errorCodes[this.code].status
  }

  get retryable(): boolean {
    return errorCodes[this.code].retryable
  }

  /** Response headers that belong to the error beside its body. */
  get headers(): Record<string, string> {
    return {
      ...(this.retryAfterSeconds === undefined ? {} : { "retry-after": String(this.retryAfterSeconds) }),
      ...(this.code === "unauthorized" ? { "www-authenticate": "Bearer" } : {})
    }
  }

  toBody(requestId: string): ErrorBody {
    return {
      code: this.code,
      message: this.message,
      ...errorCodes[this.code],
      request_id: requestId,
      ...(this.details === undefined ? {} : { details: this.details })
    }
  }
}
