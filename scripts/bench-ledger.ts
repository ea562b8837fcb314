/**
 * Measures the ledger: charges (admission with hold, rate limits and idempotency record, then settlement with ledger
 * entry and kept answer) per second and their latency, for one organization and for 1,000, on the Postgres of
 * `DATABASE_URL` (without it, on that of `scripts/postgres`) with 1, 2 and 4 processes, and on an embedded database.
 *
 * Arguments: seconds of each measurement (10), callers in all (256).
 */
import { execFileSync, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Credits } from "../src/accounts/Credits.ts"
import { KeyId, OperationId, OrganizationId } from "../src/domain/Ids.ts"
import { AccountStore } from "../src/store/AccountStore.ts"
import { Database } from "../src/store/Database.ts"

const RESPONSE = JSON.stringify({ success: true, data: { text: "An answer of some length. ".repeat(8) } })
const WARM_UP_MS = 1000

interface WorkerOptions {
  readonly prefix: string
  readonly organizations: number
  readonly callers: number
  readonly seconds: number
  /** Where to write how many milliseconds each charge took, as JSON. */
  readonly output: string
}

const openAccounts = Effect.fnUntraced(function* (prefix: string, organizations: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO organizations (id, name) SELECT ${prefix} || number, 'bench' FROM generate_series(1, ${organizations}::integer) AS number`
  yield* sql`
    INSERT INTO accounts (organization_id, granted, per_minute, per_day)
    SELECT ${prefix} || number, 1000000000000, 2000000000, 2000000000 FROM generate_series(1, ${organizations}::integer) AS number`
})

const charge = Effect.fnUntraced(function* (credits: Credits["Service"], organization: OrganizationId) {
  const operationId = OperationId.make(randomUUID())
  const idempotency = { space: "rest", key: operationId, fingerprint: "bench" } as const
  const call = { operationId, operation: "bench", keyId: KeyId.make("bench"), boundMicro: 1000, idempotency }
  yield* credits.admit(organization, call)
  yield* credits.settle(organization, { operationId, usedMicro: 700, response: RESPONSE })
})

/** Charges as fast as the callers can, each after its last one. */
const measure = Effect.fnUntraced(function* ({ callers, organizations, prefix, seconds }: WorkerOptions) {
  const credits = yield* Credits
  const latencies: Array<number> = []
  const start = performance.now() + WARM_UP_MS
  const end = start + seconds * 1000
  const caller = Effect.gen(function* () {
    for (let began = performance.now(); began < end; began = performance.now()) {
      const number = 1 + Math.floor(Math.random() * organizations)
      yield* charge(credits, OrganizationId.make(`${prefix}${number}`))
      if (began >= start) latencies.push(performance.now() - began)
    }
  })
  yield* Effect.forEach(Array.from({ length: callers }), () => caller, { concurrency: "unbounded", discard: true })
  return latencies.sort((one, other) => one - other)
})

const services = Credits.layer.pipe(Layer.provide(AccountStore.layer), Layer.provideMerge(Database.layer))

/** This file again, as a process of its own. */
const runProcess = (env: Readonly<Record<string, string>>, task: string, options: WorkerOptions) =>
  new Promise<void>((resolve, reject) => {
    const child = spawn(process.execPath, [import.meta.filename, task, JSON.stringify(options)], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ["ignore", "ignore", "inherit"]
    })
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`A process ended with ${code}`))))
  })

const percentile = (sorted: ReadonlyArray<number>, share: number) =>
  Number((sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1))

interface Setting {
  readonly database: string
  readonly env: Readonly<Record<string, string>>
  readonly processes: number
  readonly organizations: number
}

const bench = async ({ database, env, organizations, processes }: Setting, seconds: number, callers: number) => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-bench-"))
  const outputs = Array.from({ length: processes }, (_, index) => join(directory, String(index)))
  const shared = { prefix: `bench-${randomUUID()}-`, organizations, callers: Math.ceil(callers / processes), seconds }
  await runProcess(env, "open", { ...shared, output: "" })
  await Promise.all(outputs.map((output) => runProcess(env, "charge", { ...shared, output })))
  const latencies = outputs
    .flatMap((output) => JSON.parse(readFileSync(output, "utf8")) as ReadonlyArray<number>)
    .sort((one, other) => one - other)
  rmSync(directory, { recursive: true, force: true })
  return {
    database,
    processes,
    organizations,
    "charges/s": Math.round(latencies.length / seconds),
    "p50 ms": percentile(latencies, 0.5),
    "p99 ms": percentile(latencies, 0.99)
  }
}

const benchAll = async (seconds: number, callers: number) => {
  const url =
    process.env.DATABASE_URL ??
    execFileSync(join(import.meta.dirname, "postgres"), ["start"], { encoding: "utf8" }).trim()
  const directory = mkdtempSync(join(tmpdir(), "sluice-bench-"))
  const postgres = { database: "Postgres", env: { DATABASE_URL: url } }
  const embedded = { database: "embedded", env: { SLUICE_DATA_DIR: directory }, processes: 1 }
  const settings = [1, 1000].flatMap(
    (organizations): ReadonlyArray<Setting> => [
      ...[1, 2, 4].map((processes) => ({ ...postgres, processes, organizations })),
      { ...embedded, organizations }
    ]
  )
  const rows = []
  for (const setting of settings) rows.push(await bench(setting, seconds, callers))
  rmSync(directory, { recursive: true, force: true })
  console.table(rows)
}

const [task, argument] = process.argv.slice(2)
if (task === "open") {
  const { organizations, prefix } = JSON.parse(argument!) as WorkerOptions
  await Effect.runPromise(Effect.provide(openAccounts(prefix, organizations), services))
} else if (task === "charge") {
  const options = JSON.parse(argument!) as WorkerOptions
  writeFileSync(options.output, JSON.stringify(await Effect.runPromise(Effect.provide(measure(options), services))))
} else {
  await benchAll(Number(task ?? 10), Number(argument ?? 256))
}
