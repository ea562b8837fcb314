/**
 * Four processes and 64 callers make 100,000 charges on one organization whose pool covers part of them, while processes
 * are killed with `kill -9` six times and Postgres is restarted at once twice. Starts its own Postgres (or uses the
 * running one of `scripts/postgres`). Ends with 1 when anything is overspent, lost, charged twice or left behind.
 *
 * Arguments: requests (100000), kills (6), restarts (2), processes (4), callers (64).
 */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { runChaos } from "../test/support/LedgerChaos.ts"

const postgres = (command: string) =>
  execFileSync(join(import.meta.dirname, "postgres"), [command], { encoding: "utf8" })

const [requests = 100_000, kills = 6, restarts = 2, processes = 4, callers = 64] = process.argv.slice(2).map(Number)

const report = await runChaos({
  url: postgres("start").trim(),
  processes,
  callers,
  requests,
  kills,
  disturbances: restarts,
  disturb: async () => void postgres("restart")
})

console.table(report)
const { chargedTwice, imbalanceMicro, lost, orphanedAfter, overspentMicro } = report
process.exitCode = chargedTwice + imbalanceMicro + lost + orphanedAfter + overspentMicro === 0 ? 0 : 1
