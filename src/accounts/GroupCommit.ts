import { Cause, Data, Deferred, Effect, Exit, FiberSet, type Schedule, type Scope } from "effect"

/** Too many wait already. */
export class Overloaded extends Data.TaggedError("Overloaded") {}

export interface GroupCommitOptions<Key, Member, Answer, E> {
  /**
   * Commits the members of one group together and answers each, in their order. It must bear being repeated with the
   * same members: it is, when its outcome is not known.
   */
  readonly commit: (key: Key, members: ReadonlyArray<Member>) => Effect.Effect<ReadonlyArray<Answer>, E>
  /** When and how often a failed commit is repeated. */
  readonly retry: Schedule.Schedule<unknown, E>
  /** How many members one commit takes at most. */
  readonly maxBatch: number
  /** How much one commit takes at most, as `weigh` weighs; it takes one member in any case. */
  readonly maxWeight: number
  readonly weigh: (member: Member) => number
  /** How many of the group may wait before this member; where more do, it fails with `Overloaded`. */
  readonly maxWaiting: (member: Member) => number
}

interface Waiting<Member, Answer, E> {
  readonly member: Member
  readonly answer: Deferred.Deferred<Answer, E>
}

/** Commits members of a group together. */
export interface GroupCommit<Key, Member, Answer, E> {
  /**
   * Commits a member with those of its group that wait at the same time. Interrupted while it waits, it is taken back;
   * after that the commit goes on without the caller.
   */
  submit(key: Key, member: Member): Effect.Effect<Answer, E | Overloaded>
}

/** Takes from the front of the queue what one commit may hold. */
const takeBatch = <Member, Answer, E>(
  queue: Array<Waiting<Member, Answer, E>>,
  {
    maxBatch,
    maxWeight,
    weigh
  }: Pick<GroupCommitOptions<never, Member, never, never>, "maxBatch" | "maxWeight" | "weigh">
) => {
  let weight = 0
  let size = 0
  for (const { member } of queue) {
    weight += weigh(member)
    if (size === maxBatch || (size > 0 && weight > maxWeight)) break
    size++
  }
  return queue.splice(0, size)
}

const isBugOfOne = (exit: Exit.Exit<unknown, unknown>, batch: ReadonlyArray<unknown>): boolean =>
  Exit.isFailure(exit) && Cause.hasDies(exit.cause) && batch.length > 1

const answerAll = <Member, Answer, E>(
  exit: Exit.Exit<ReadonlyArray<Answer>, E>,
  batch: ReadonlyArray<Waiting<Member, Answer, E>>
) =>
  batch.forEach(({ answer }, index) => {
    Deferred.doneUnsafe(
      answer,
      Exit.map(exit, (answers) => answers[index]!)
    )
  })

/**
 * Group commit: members that arrive while their group's commit is under way form the next one. There is no timer: a
 * member of an idle group is committed at once. Groups do not wait for each other. Ends with the scope, and with it all
 * who wait.
 */
export const make = Effect.fnUntraced(function* <Key, Member, Answer, E>(
  options: GroupCommitOptions<Key, Member, Answer, E>
): Effect.fn.Return<GroupCommit<Key, Member, Answer, E>, never, Scope.Scope> {
  const queues = new Map<Key, Array<Waiting<Member, Answer, E>>>()
  // Commits belong to nobody's request: they run with the services and the span of the start.
  const run = yield* FiberSet.makeRuntime<never, void>()

  const commit = (key: Key, batch: ReadonlyArray<Waiting<Member, Answer, E>>): Effect.Effect<unknown> =>
    Effect.suspend(() =>
      options.commit(
        key,
        batch.map(({ member }) => member)
      )
    ).pipe(
      Effect.retry(options.retry),
      Effect.onExit((exit) =>
        isBugOfOne(exit, batch) ? commitAlone(key, batch) : Effect.sync(() => answerAll(exit, batch))
      ),
      Effect.exit
    )

  /** A member that cannot be committed must not take the others with it. */
  const commitAlone = (key: Key, batch: ReadonlyArray<Waiting<Member, Answer, E>>) =>
    Effect.forEach(batch, (waiting) => commit(key, [waiting]), { discard: true })

  const drain = Effect.fnUntraced(
    function* (key: Key, queue: Array<Waiting<Member, Answer, E>>) {
      // Who arrives in the same turn of the event loop comes along.
      yield* Effect.yieldNow
      while (queue.length > 0) yield* commit(key, takeBatch(queue, options))
      queues.delete(key)
    },
    (effect, key, queue) =>
      Effect.onInterrupt(effect, () =>
        Effect.sync(() => {
          queues.delete(key)
          for (const { answer } of queue.splice(0)) Deferred.doneUnsafe(answer, Effect.interrupt)
        })
      )
  )

  const enqueue = (key: Key, waiting: Waiting<Member, Answer, E>): boolean => {
    const queue = queues.get(key)
    if (queue === undefined) {
      const started = [waiting]
      queues.set(key, started)
      run(drain(key, started))
      return true
    }
    return queue.length < options.maxWaiting(waiting.member) && queue.push(waiting) > 0
  }

  const takeBack = (key: Key, waiting: Waiting<Member, Answer, E>) => {
    const queue = queues.get(key)
    const index = queue?.indexOf(waiting) ?? -1
    if (index >= 0) queue!.splice(index, 1)
  }

  const submit = (key: Key, member: Member) =>
    Effect.suspend((): Effect.Effect<Answer, E | Overloaded> => {
      const waiting = { member, answer: Deferred.makeUnsafe<Answer, E>() }
      return enqueue(key, waiting)
        ? Effect.onInterrupt(Deferred.await(waiting.answer), () => Effect.sync(() => takeBack(key, waiting)))
        : Effect.fail(new Overloaded())
    })

  return { submit }
})
