import { Effect } from "effect"

/** Work on a slice takes some milliseconds; other requests go on between two slices. */
const SLICE_LENGTH = 8192

/** Cuts text into slices of at most 8 Ki characters, at a space where there is one. */
export const slices = (text: string): Array<string> => {
  const parts: Array<string> = []
  for (let start = 0; start < text.length; ) {
    const end = start + SLICE_LENGTH
    const space = end < text.length ? text.slice(start, end).search(/\s\S*$/) : -1
    const next = space > 0 ? start + space : end
    parts.push(text.slice(start, next))
    start = next
  }
  return parts
}

/** Runs `work` on each item and lets other fibers and the event loop go on after each. */
export const eachWithYield = <A, B>(items: ReadonlyArray<A>, work: (item: A) => B): Effect.Effect<Array<B>> =>
  Effect.forEach(items, (item) =>
    Effect.tap(
      Effect.sync(() => work(item)),
      Effect.yieldNow
    )
  )
