#!/usr/bin/env node
/**
 * The command line as npm installs it. The sources are TypeScript that Node 24 runs as it is; an older Node hands over to
 * the Node 24 that comes with the packages.
 */
import { spawn } from "node:child_process"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"

const FIRST_NODE = 24

const newerNode = () => {
  try {
    return createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`)
  } catch {
    process.stderr.write(`sluice: needs Node ${FIRST_NODE} or later, and this is ${process.version}\n`)
    process.exit(1)
  }
}

const handOver = () => {
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url))
  const child = spawn(newerNode(), [main, ...process.argv.slice(2)], { stdio: "inherit" })
  // A terminal's Ctrl-C reaches both processes; what is sent to this one alone is passed on.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  child.on("exit", (code, signal) => process.exit(signal === null ? (code ?? 1) : 1))
}

if (Number.parseInt(process.versions.node, 10) < FIRST_NODE) handOver()
else await import("../src/main.ts")
