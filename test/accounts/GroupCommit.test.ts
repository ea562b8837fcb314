import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Deferred, Effect, Exit, Fiber, Schedule, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as GroupCommit from "../../src/accounts/GroupCommit.ts"

class Away extends Data.TaggedError("Away") {}

interface Commit {
  readonly key: string
  readonly members: ReadonlyArray<number>
  /** Ends this try of the commit. */
  readonly end: (exit: Exit.Exit<void, Away>) => Effect.Effect<void>
}

/** A group commit whose commits last until the test ends them; each answers its members times ten. */
const startHeld = Effect.fnUntraced(function* (
  options: Partial<GroupCommit.GroupCommitOptions<string, number, number, Away>> = {}
) {
  const commits: Array<Commit> = []
  const group = yield* GroupCommit.make<string, number, number, Away>({
    commit: Effect.fnUntraced(function* (key, members) {
      const ended = yield* Deferred.make<void, Away>()
      commits.push({ key, members, end: (exit) => Effect.andThen(Deferred.done(ended, exit), settled) })
      yield* Deferred.await(ended)
      return members.map((member) => member * 10)
    }),
    retry: Schedule.recurs(0),
    maxBatch: 100,
    maxWeight: 100,
    weigh: () => 0,
    maxWaiting: () => 100,
    ...options
  })
  const submit = Effect.fnUntraced(function* (key: string, ...members: ReadonlyArray<number>) {
    const fibers = []
    for (const member of members) fibers.push(yield* Effect.forkChild(group.submit(key, member)))
    yield* settled
    return fibers
  })
  return { commits, submit }
})

/** Lets every fiber go on as far as it can. */
const settled = TestClock.adjust(0)

const membersOf = (commits: ReadonlyArray<Commit>) => commits.map(({ members }) => members)

describe("GroupCommit", () => {
  it.effect("commits the others when one member cannot be committed", () =>
    Effect.gen(function* () {
      const { commits, submit } = yield* startHeld()
      const first = yield* submit("a", 1)
      const rest = yield* submit("a", 2, 3)
      yield* commits[0]!.end(Exit.void)
      yield* commits[1]!.end(Exit.die("3 is no number"))
      assert.deepStrictEqual(membersOf(commits).slice(2), [[2]])
      yield* commits[2]!.end(Exit.void)
      assert.deepStrictEqual(membersOf(commits).slice(3), [[3]])
      yield* commits[3]!.end(Exit.die("3 is no number"))
      assert.deepStrictEqual(yield* Fiber.joinAll([...first, rest[0]!]), [10, 20])
      assert.isTrue(Exit.hasDies(yield* Fiber.await(rest[1]!)))
    })
  )

  it.effect("commits at once when idle, and together what arrived meanwhile, each with its own answer", () =>
    Effect.gen(function* () {
      const { commits, submit } = yield* startHeld()
      const first = yield* submit("a", 1)
      assert.deepStrictEqual(membersOf(commits), [[1]])
      const rest = yield* submit("a", 2, 3, 4)
      assert.deepStrictEqual(membersOf(commits), [[1]])
      yield* commits[0]!.end(Exit.void)
      assert.deepStrictEqual(membersOf(commits), [[1], [2, 3, 4]])
      yield* commits[1]!.end(Exit.void)
      assert.deepStrictEqual(yield* Fiber.joinAll([...first, ...rest]), [10, 20, 30, 40])
    })
  )

  it.effect("lets no group wait for another", () =>
    Effect.gen(function* () {
      const { commits, submit } = yield* startHeld()
      yield* submit("a", 1)
      const fibers = yield* submit("b", 2)
      yield* commits.find(({ key }) => key === "b")!.end(Exit.void)
      assert.deepStrictEqual(yield* Fiber.joinAll(fibers), [20])
    })
  )

  it.effect("starts anew after a group was idle", () =>
    Effect.gen(function* () {
      const { commits, submit } = yield* startHeld()
      yield* submit("a", 1)
      yield* commits[0]!.end(Exit.void)
      const fibers = yield* submit("a", 2)
      yield* commits[1]!.end(Exit.void)
      assert.deepStrictEqual(yield* Fiber.joinAll(fibers), [20])
    })
  )

  it.effect("takes back a member whose caller goes away while it waits", () =>
    Effect.gen(function* () {
      const { commits, submit } = yield* startHeld()
      yield* submit("a", 1)
      const [second] = yield* submit("a", 2, 3)
      yield* Fiber.interrupt(second!)
      yield* commits[0]!.end(Exit.void)
      assert.deepStrictEqual(membersOf(commits), [[1], [3]])
    })
  )

  it.effect("goes on with a commit whose caller goes away", () =>
    Effect.gen(function* () {
      const { commits, submit } = yield* startHeld()
      const [first, second] = yield* submit("a", 1, 2)
      yield* Fiber.interrupt(first!)
      yield* commits[0]!.end(Exit.void)
      assert.strictEqual(yield* Fiber.join(second!), 20)
    })
  )

  it.effect("fails every member of a failed commit, and only those", () =>
    Effect.gen(function* () {
      const { commits, submit } = yield* startHeld()
      const failing = yield* submit("a", 1, 2)
      const [later] = yield* submit("a", 3)
      yield* commits[0]!.end(Exit.fail(new Away()))
      for (const fiber of failing) assert.instanceOf(yield* Effect.flip(Fiber.join(fiber)), Away)
      yield* commits[1]!.end(Exit.void)
      assert.strictEqual(yield* Fiber.join(later!), 30)
    })
  )

  it.effect("survives a commit with a bug", () =>
    Effect.gen(function* () {
      const { commits, submit } = yield* startHeld()
      const [first] = yield* submit("a", 1)
      const [second] = yield* submit("a", 2)
      yield* commits[0]!.end(Exit.die("a bug"))
      const exit = yield* Fiber.await(first!)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      yield* commits[1]!.end(Exit.void)
      assert.strictEqual(yield* Fiber.join(second!), 20)
    })
  )

  it.effect("repeats a failed commit with the same members before anybody hears of it", () =>
    Effect.gen(function* () {
      const { commits, submit } = yield* startHeld({
        retry: Schedule.max([Schedule.spaced("1 second"), Schedule.recurs(1)])
      })
      const fibers = yield* submit("a", 1, 2)
      yield* commits[0]!.end(Exit.fail(new Away()))
      yield* submit("a", 3)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(membersOf(commits), [
        [1, 2],
        [1, 2]
      ])
      yield* commits[1]!.end(Exit.void)
      assert.deepStrictEqual(yield* Fiber.joinAll(fibers), [10, 20])
    })
  )

  it.effect("bounds a commit by number and by weight, but for a single member", () =>
    Effect.gen(function* () {
      const { commits, submit } = yield* startHeld({ maxBatch: 3, maxWeight: 10, weigh: (member) => member })
      yield* submit("a", 1)
      yield* submit("a", 1, 2, 3, 4, 6, 50, 1)
      for (let index = 0; index < commits.length; index++) yield* commits[index]!.end(Exit.void)
      assert.deepStrictEqual(membersOf(commits), [[1], [1, 2, 3], [4, 6], [50], [1]])
    })
  )

  it.effect("refuses at once whom too many wait before", () =>
    Effect.gen(function* () {
      const { commits, submit } = yield* startHeld({ maxWaiting: (member) => (member > 100 ? 10 : 2) })
      yield* submit("a", 1)
      const [, , refused] = yield* submit("a", 2, 3, 4)
      assert.instanceOf(yield* Effect.flip(Fiber.join(refused!)), GroupCommit.Overloaded)
      yield* submit("a", 101)
      yield* commits[0]!.end(Exit.void)
      assert.deepStrictEqual(membersOf(commits), [[1], [2, 3, 101]])
    })
  )

  it.effect("interrupts all who wait when its scope ends", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { submit } = yield* startHeld().pipe(Scope.provide(scope))
      const fibers = [...(yield* submit("a", 1)), ...(yield* submit("a", 2))]
      yield* Scope.close(scope, Exit.void)
      for (const fiber of fibers) {
        const exit = yield* Fiber.await(fiber)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      }
    })
  )
})
