import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { OrganizationId } from "../../src/domain/Ids.ts"
import { AccountStore } from "../../src/store/AccountStore.ts"
import { layerFrom } from "../../src/store/Database.ts"
import { connectPostgres } from "../../src/store/PostgresDatabase.ts"

export interface ChaosOptions {
  /** A Postgres database. */
  readonly url: string
  readonly processes: number
  /** In all processes together. */
  readonly callers: number
  /** How many requests are made until it ends; the pool covers 7 of 10. */
  readonly requests: number
  /** How often a process is killed with `kill -9` and replaced. */
  readonly kills: number
  /** How often the database is disturbed, and how. */
  readonly disturbances: number
  readonly disturb: () => Promise<void>
}

export interface ChaosReport {
  readonly acknowledged: number
  readonly refused: number
  /** Requests whose hold was gone when they settled: charged nothing, acknowledged nothing. */
  readonly late: number
  readonly charged: number
  readonly overspentMicro: number
  /** Acknowledged charges that the ledger does not have, or has with another amount. */
  readonly lost: number
  /** Requests with more than one charge. */
  readonly chargedTwice: number
  /** What the account's sums differ by from the ledger's. */
  readonly imbalanceMicro: number
  readonly orphanedBefore: number
  readonly orphanedAfter: number
  readonly seconds: number
}

const WORKER = join(import.meta.dirname, "LedgerWorker.ts")
const USED = 7
const ORPHANS_END_WITHIN_MS = 60_000
const POLL_MS = 50
const MAX_FAILED_STARTS = 10

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A worker, and how many lines it has written. */
class Worker {
  readonly path: string
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>
  #offset = 0
  #lines = 0

  constructor(options: ChaosOptions, organization: string, directory: string) {
    this.path = join(directory, randomUUID())
    const callers = String(Math.ceil(options.callers / options.processes))
    this.#child = spawn(process.execPath, [WORKER, organization, callers, this.path], {
      env: { PATH: process.env.PATH, DATABASE_URL: options.url },
      stdio: "ignore"
    })
    this.#ended = new Promise((resolve) => this.#child.once("exit", resolve))
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  kill(): Promise<unknown> {
    this.#child.kill("SIGKILL")
    return this.#ended
  }

  /** Counts what is new in its file, too. */
  get lines(): number {
    if (!existsSync(this.path)) return 0
    const file = openSync(this.path, "r")
    const buffer = Buffer.alloc(1 << 20)
    for (let size = readSync(file, buffer, 0, buffer.length, this.#offset); size > 0; ) {
      this.#offset += size
      for (const byte of buffer.subarray(0, size)) if (byte === 10) this.#lines++
      size = readSync(file, buffer, 0, buffer.length, this.#offset)
    }
    closeSync(file)
    return this.#lines
  }
}

/** The moments of `times` events, evenly spread over the requests. */
const spread = (times: number, requests: number) =>
  Array.from({ length: times }, (_, index) => ((index + 1) * requests) / (times + 1))

const disturbUntilDone = async (options: ChaosOptions, organization: string, directory: string) => {
  const start = () => new Worker(options, organization, directory)
  const workers = Array.from({ length: options.processes }, start)
  const all = [...workers]
  const replace = (index: number) => {
    // As a supervisor does: also a process that found the database away when it started.
    if (all.length > options.processes + options.kills + MAX_FAILED_STARTS) throw new Error("Processes do not start")
    workers[index] = start()
    all.push(workers[index]!)
  }
  const kills = spread(options.kills, options.requests)
  const disturbances = spread(options.disturbances, options.requests)
  try {
    for (let made = 0; made < options.requests; made = all.reduce((sum, { lines }) => sum + lines, 0)) {
      await sleep(POLL_MS)
      for (const [index, { isRunning }] of workers.entries()) if (!isRunning) replace(index)
      if (made >= (kills[0] ?? Number.POSITIVE_INFINITY)) {
        const victim = kills.length % workers.length
        kills.shift()
        await workers[victim]!.kill()
        replace(victim)
      }
      if (made >= (disturbances[0] ?? Number.POSITIVE_INFINITY)) {
        disturbances.shift()
        await options.disturb()
      }
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()))
  }
  return all.flatMap(({ path }) => (existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : []))
}

const open = Effect.fnUntraced(function* (organization: OrganizationId, grantedMicro: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (id, name) VALUES (${organization}, 'chaos')`
  yield* sql`
    INSERT INTO accounts (organization_id, granted, per_minute, per_day)
    VALUES (${organization}, ${grantedMicro}, 2000000000, 2000000000)`
})

const countHolds = Effect.fnUntraced(function* (organization: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ count: number }>`
    SELECT count(*) AS count FROM holds WHERE organization_id = ${organization}`
  return row!.count
})

/** Sweeps as any process does, until no hold is left or it takes too long. */
const sweepOrphans = Effect.fnUntraced(function* (organization: OrganizationId) {
  const store = yield* AccountStore
  const deadline = performance.now() + ORPHANS_END_WITHIN_MS
  let orphaned = yield* countHolds(organization)
  while (orphaned > 0 && performance.now() < deadline) {
    yield* Effect.sleep("1 second")
    yield* store.sweep
    orphaned = yield* countHolds(organization)
  }
  return orphaned
})

const audit = Effect.fnUntraced(function* (organization: OrganizationId, lines: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const [account] = yield* sql<{ granted: number; posted: number; held: number }>`
    SELECT granted, posted, held FROM accounts WHERE organization_id = ${organization}`
  const entries = yield* sql<{ id: string; amount: number }>`
    SELECT operation_id AS id, amount FROM ledger_entries WHERE organization_id = ${organization} AND kind = 'charge'`
  const amounts = new Map(entries.map(({ amount, id }) => [id, amount]))
  const acknowledged = lines.filter((line) => line.startsWith("charged ")).map((line) => line.split(" "))
  const requests = new Set(entries.map(({ id }) => id.split("/")[0]))
  const total = entries.reduce((sum, { amount }) => sum + amount, 0)
  return {
    acknowledged: acknowledged.length,
    refused: lines.filter((line) => line === "refused").length,
    late: lines.filter((line) => line === "late").length,
    charged: entries.length,
    overspentMicro: Math.max(0, total + account!.held - account!.granted),
    lost: acknowledged.filter(([, id, amount]) => amounts.get(id!) !== Number(amount)).length,
    chargedTwice: entries.length - requests.size,
    imbalanceMicro: Math.abs(total - account!.posted) + account!.held
  }
})

/**
 * Lets processes spend from one pool while they are killed and the database is disturbed, and compares what was
 * acknowledged with what is in the ledger.
 */
export const runChaos = async (options: ChaosOptions): Promise<ChaosReport> => {
  const organization = OrganizationId.make(`chaos-${randomUUID()}`)
  const directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"))
  writeFileSync(join(directory, "organization"), organization)
  const database = layerFrom("postgres", connectPostgres(Redacted.make(options.url), 2)).pipe(
    Layer.provide(Reactivity.layer)
  )
  const services = AccountStore.layer.pipe(Layer.provideMerge(database))
  const run = <A, E>(effect: Effect.Effect<A, E, AccountStore | SqlClient.SqlClient>) =>
    Effect.runPromise(Effect.provide(effect, services))
  try {
    await run(open(organization, Math.floor(options.requests * 0.7) * USED))
    const began = performance.now()
    const lines = await disturbUntilDone(options, organization, directory)
    const seconds = (performance.now() - began) / 1000
    const orphanedBefore = await run(countHolds(organization))
    const orphanedAfter = await run(sweepOrphans(organization))
    return { ...(await run(audit(organization, lines))), orphanedBefore, orphanedAfter, seconds }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
