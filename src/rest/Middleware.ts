import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import type { Caller } from "../accounts/Authentication.ts"
import { errorSchemas } from "./ErrorSchemas.ts"

/** What every request must heed beside its schema: a JSON media type, and a `Request-Timeout` that makes sense. */
export class RequestRules extends HttpApiMiddleware.Service<RequestRules>()("sluice/rest/RequestRules", {
  error: errorSchemas
}) {}

/** Every endpoint of `/v1` needs `Authorization: Bearer <API_KEY>`. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: Caller }>()(
  "sluice/rest/Authorization",
  {
    error: errorSchemas,
    security: {
      bearer: HttpApiSecurity.bearer.pipe(
        HttpApiSecurity.annotate(OpenApi.Description, "An API key of an organization.")
      )
    }
  }
) {}

/** Writes whatever an endpoint fails with as the error envelope. */
export class ErrorEnvelope extends HttpApiMiddleware.Service<ErrorEnvelope>()("sluice/rest/ErrorEnvelope", {
  error: errorSchemas
}) {}
