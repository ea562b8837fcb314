import { Clock, Effect } from "effect"
import type { ProviderError } from "./ProviderError.ts"
import { type FailedCall, fromThrown } from "./VendorFailure.ts"

/** Runs one call of a vendor's SDK: interruption aborts it, and what it throws becomes a `ProviderError`. */
export const sdkCall = <A>(
  call: FailedCall,
  run: (signal: AbortSignal) => PromiseLike<A>
): Effect.Effect<A, ProviderError> =>
  Effect.catch(Effect.tryPromise({ try: run, catch: (thrown) => ({ thrown }) }), ({ thrown }) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(fromThrown(thrown, call, now)))
  )
