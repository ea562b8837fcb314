import { Context, Data, Duration } from "effect"

export const DEFAULT_DEADLINE_SECONDS = 120
export const MAX_DEADLINE_SECONDS = 600

/** How long the call under way may take, vendors' calls included. */
export const Deadline = Context.Reference<Duration.Duration>("sluice/operations/Deadline", {
  defaultValue: () => Duration.seconds(DEFAULT_DEADLINE_SECONDS)
})

/** The call took longer than its deadline. */
export class DeadlineExceeded extends Data.TaggedError("DeadlineExceeded")<{ readonly seconds: number }> {}
