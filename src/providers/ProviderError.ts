import { Schema } from "effect"

/** The vendor is unknown here or has no credentials. */
export class ProviderNotConfigured extends Schema.TaggedError<ProviderNotConfigured>()("ProviderNotConfigured", {
  configured: Schema.Array(Schema.String)
}) {}

/** The vendor has no such model. */
export class ModelNotFound extends Schema.TaggedError<ModelNotFound>()("ModelNotFound", {
  model: Schema.String
}) {}

/** The request asks the model for what it cannot do, for example a vector length that it does not have. */
export class ModelRefused extends Schema.TaggedError<ModelRefused>()("ModelRefused", {
  path: Schema.String,
  message: Schema.String
}) {}

/** The vendor limits our rate or is overloaded. */
export class ProviderOverloaded extends Schema.TaggedError<ProviderOverloaded>()("ProviderOverloaded", {
  retryAfterMs: Schema.optionalKey(Schema.Finite)
}) {}

/** The vendor did not answer in time. */
export class ProviderTimeout extends Schema.TaggedError<ProviderTimeout>()("ProviderTimeout", {}) {}

/** The vendor failed, refused our credentials or answered what cannot be read. */
export class ProviderFailed extends Schema.TaggedError<ProviderFailed>()("ProviderFailed", {
  status: Schema.optionalKey(Schema.Int)
}) {}

/** Why a vendor could not serve a call. `cause` is for the log, never for the caller. */
export class ProviderError extends Schema.TaggedError<ProviderError>()("ProviderError", {
  provider: Schema.String,
  reason: Schema.Union([
    ProviderNotConfigured,
    ModelNotFound,
    ModelRefused,
    ProviderOverloaded,
    ProviderTimeout,
    ProviderFailed
  ]),
  cause: Schema.optionalKey(Schema.Defect())
}) {}
