import { Cause, Context, Effect, Exit, FiberSet } from "effect"
import type { ApiError } from "../operations/ApiError.ts"
import type { credits, grantCredits } from "../operations/Credits.ts"
import type { embed } from "../operations/Embed.ts"
import { asApiError } from "../operations/Failures.ts"
import type { generate } from "../operations/Generate.ts"
import type { index } from "../operations/Index.ts"
import type { apiKeys, createApiKey, revokeApiKey, rotateApiKey } from "../operations/Keys.ts"
import type { ledger, usage } from "../operations/Ledger.ts"
import type { createOrganization, setLimits } from "../operations/Organizations.ts"
import { CurrentRequestId } from "../operations/RequestId.ts"
import type { search } from "../operations/Search.ts"
import type { status } from "../operations/Status.ts"

/** What the operations of this surface need. */
export type OperationServices = Effect.Services<
  ReturnType<
    | typeof embed
    | typeof generate
    | typeof index
    | typeof search
    | typeof status
    // Management
    | typeof apiKeys
    | typeof createApiKey
    | typeof createOrganization
    | typeof credits
    | typeof grantCredits
    | typeof ledger
    | typeof revokeApiKey
    | typeof rotateApiKey
    | typeof setLimits
    | typeof usage
  >
>

/** What every resolver gets. */
export interface GraphQlContext {
  /** Runs an operation for the caller of the request under way; rejects with an `ApiError`, bugs too. */
  readonly run: <A>(operation: Effect.Effect<A, ApiError, OperationServices>) => Promise<A>
  readonly requestId: string
}

/**
 * The one way from resolvers, which are promises, to effects. Operations run with the services, spans and log
 * annotations of the request, and belong to its scope: when the client goes away, they are interrupted and awaited.
 */
export const makeContext = Effect.gen(function* () {
  const context = yield* Effect.context<OperationServices>()
  const fork = yield* FiberSet.runtime(yield* FiberSet.make())<OperationServices>()
  return {
    requestId: Context.get(context, CurrentRequestId),
    run: <A>(operation: Effect.Effect<A, ApiError, OperationServices>) =>
      new Promise<A>((resolve, reject) =>
        fork(asApiError(operation)).addObserver((exit) =>
          Exit.isSuccess(exit) ? resolve(exit.value) : reject(Cause.squash(exit.cause))
        )
      )
  } satisfies GraphQlContext
})
