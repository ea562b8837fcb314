import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "vitest"
import { startServer } from "./Process.ts"

const entry = join(import.meta.dirname, "FakeServer.ts")

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const until = async (condition: () => boolean) => {
  const deadline = Date.now() + 10_000
  while (!condition() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20))
  assert.isTrue(condition())
}

describe("startServer", () => {
  it("gives the address and the key of a server that is ready, and its output", async () => {
    await using server = await startServer({ entry })
    assert.strictEqual((await fetch(`${server.url}/readyz`)).status, 200)
    assert.strictEqual(server.apiKey, "sl_test_key")
    assert.strictEqual(server.stdout, "starting\n")
  })

  it("passes on the environment that it was given and nothing of its own", async () => {
    await using server = await startServer({ entry, env: { SLUICE_CREDITS: "7" } })
    const env: ReadonlyArray<string> = JSON.parse(await (await fetch(`${server.url}/env`)).text())
    assert.includeMembers([...env], ["PATH", "PORT", "SLUICE_DATA_DIR", "SLUICE_CREDITS"])
    assert.notIncludeMembers([...env], ["VITEST", "NODE_ENV"])
  })

  it("tells how the server ended", async () => {
    await using first = await startServer({ entry })
    assert.deepStrictEqual(await first.kill("SIGTERM"), { code: 0, signal: null })
    await using second = await startServer({ entry })
    assert.deepStrictEqual(await second.kill("SIGKILL"), { code: null, signal: "SIGKILL" })
    assert.deepStrictEqual(await second.exited, { code: null, signal: "SIGKILL" })
  })

  it("keeps a data directory that it was given and removes its own", async () => {
    const own = await startServer({ entry })
    const given = await startServer({ entry, dataDir: own.dataDir, env: { SLUICE_BOOTSTRAP_KEY: "sl_given" } })
    assert.strictEqual(given.apiKey, "sl_given")
    await given[Symbol.asyncDispose]()
    assert.isTrue(existsSync(own.dataDir))
    await own[Symbol.asyncDispose]()
    assert.isFalse(existsSync(own.dataDir))
  })

  it("rejects with what a server wrote that ends instead of getting ready", async () => {
    const failure = await startServer({ entry, env: { FAIL: "PORT must be a number" } }).then(
      () => "",
      (error: Error) => error.message
    )
    assert.include(failure, "ended with 3")
    assert.include(failure, "PORT must be a number")
  })

  it("kills a server that is not ready in time", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "sluice-server-"))
    const failure = await startServer({ entry, dataDir, env: { READY_AFTER_MS: "60000" }, readyWithinMs: 1000 }).then(
      () => "",
      (error: Error) => error.message
    )
    assert.include(failure, "not ready within 1000 ms")
    assert.isFalse(isAlive(Number(await readFile(join(dataDir, "pid"), "utf8"))))
    await rm(dataDir, { recursive: true })
  })

  it("leaves no server behind when the test process is killed", async () => {
    const script = `
      const { startServer } = await import(${JSON.stringify(join(import.meta.dirname, "Process.ts"))})
      const server = await startServer({ entry: ${JSON.stringify(entry)} })
      process.stdout.write(String(server.pid))
    `
    const parent: ChildProcess = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    const [pid] = await once(parent.stdout as NodeJS.ReadableStream, "data")
    assert.isTrue(isAlive(Number(pid)))
    parent.kill("SIGKILL")
    await until(() => !isAlive(Number(pid)))
  })
})

describe("a test that is finished", () => {
  let pid = 0

  afterAll(() => {
    assert.isAbove(pid, 0)
    assert.isFalse(isAlive(pid))
  })

  it("leaves no server that nobody disposed", async () => {
    pid = (await startServer({ entry })).pid
    assert.isTrue(isAlive(pid))
  })
})
