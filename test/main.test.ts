import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, statSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it, onTestFinished } from "vitest"
import { freePort, type ServerProcess, startServer } from "./support/Process.ts"

const TIMEOUT_MS = 120_000

const dataDirectory = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), "sluice-main-"))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

const call = async (
  server: Pick<ServerProcess, "apiKey" | "url">,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {}
) => {
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body)
  })
  return {
    status: response.status,
    json: await response.json(),
    replayed: response.headers.get("idempotent-replayed") === "true"
  }
}

const balance = async (server: ServerProcess) => {
  const { json } = await call(server, "/graphql", { query: "{ credits { balance held spent granted } }" })
  return json.data.credits
}

/** Waits until `check` answers something, asking again as fast as it answers. */
const eventually = async <A>(check: () => Promise<A | undefined>): Promise<A> => {
  for (;;) {
    const answer = await check()
    if (answer !== undefined) return answer
  }
}

/** A batch of documents of which the n-th speaks of its own number. */
const batch = (number: number, size: number) => ({
  collection: "papers",
  documents: Array.from({ length: size }, (_, i) => ({
    id: `${number}-${i}`,
    content: `Batch${number} document${i} ${"about the flow of water through canals ".repeat(20)}`
  }))
})

describe("sluice", () => {
  it("starts with nothing, keeps its key to its owner and shows a call that works when pasted", {
    timeout: TIMEOUT_MS
  }, async () => {
    const server = await startServer()
    const keyFile = join(server.dataDir, "api-key")
    assert.strictEqual(statSync(keyFile).mode & 0o777, 0o600)
    assert.notInclude(server.stdout + server.stderr, server.apiKey)
    const line = /^curl .*$/m.exec(server.stdout)?.[0]
    assert.isDefined(line)
    const pasted = spawn("bash", ["-c", line!], { cwd: tmpdir() })
    let answer = ""
    pasted.stdout.on("data", (text) => (answer += text))
    await once(pasted, "close")
    assert.isTrue(JSON.parse(answer).success, answer)
    for (const page of ["/docs", "/graphql"]) {
      const response = await fetch(server.url + page, { headers: { accept: "text/html" } })
      assert.strictEqual(response.status, 200)
      assert.include(await response.text(), "<html")
    }
  })

  it("answers an idempotency key as before after kill -9, free of charge", { timeout: TIMEOUT_MS }, async () => {
    const dataDir = await dataDirectory()
    const once = (server: ServerProcess) =>
      call(server, "/v1/embed", { texts: ["once"], model: { provider: "local" } }, { "idempotency-key": "order-1" })
    const first = await startServer({ dataDir })
    const answered = await once(first)
    await first.kill("SIGKILL")
    const second = await startServer({ dataDir })
    const again = await once(second)
    assert.isTrue(again.replayed)
    assert.deepStrictEqual(again.json, answered.json)
    assert.deepInclude(await balance(second), { held: 0, spent: 0.5 })
  })

  it("keeps what it knows over a restart, and says again where the key is", { timeout: TIMEOUT_MS }, async () => {
    const dataDir = await dataDirectory()
    const first = await startServer({ dataDir })
    assert.strictEqual((await call(first, "/v1/index", batch(1, 2))).status, 200)
    assert.deepStrictEqual(await first.kill("SIGTERM"), { code: 0, signal: null })
    const second = await startServer({ dataDir })
    assert.include(second.stdout, join(dataDir, "api-key"))
    assert.strictEqual(second.apiKey, first.apiKey)
    const search = { collection: "papers", query: "Batch1 document1" }
    assert.strictEqual((await call(second, "/v1/search", search)).json.data.results[0].id, "1-1")
    assert.deepInclude(await balance(second), { held: 0, spent: 1.5 })
  })

  it("refuses a second start on the same directory in one line that says what to do", {
    timeout: TIMEOUT_MS
  }, async () => {
    const dataDir = await dataDirectory()
    await startServer({ dataDir })
    const refused = await startServer({ dataDir }).then(
      () => "started",
      (error: Error) => error.message
    )
    assert.match(refused, /in use by another process.*SLUICE_DATA_DIR/)
  })

  it.each([
    [{ PORT: "70000" }, /PORT/],
    [{ SLUICE_CREDITS: "many" }, /SLUICE_CREDITS/],
    [{ SLUICE_BOOTSTRAP_KEY: "short" }, /SLUICE_BOOTSTRAP_KEY/],
    [{ DATABASE_URL: "postgres://127.0.0.1:1/none" }, /SLUICE_SECRET|DATABASE_URL/],
    [{ SLUICE_DEFAULT_PROVIDER: "nobody" }, /SLUICE_DEFAULT_PROVIDER/]
  ])("stops the start over %j with one line that names the setting", { timeout: TIMEOUT_MS }, async (env, name) => {
    const refused = await startServer({ env }).then(
      () => "started",
      (error: Error) => error.message
    )
    const lines = refused.split("\n").filter((line) => line.includes("sluice: "))
    assert.lengthOf(lines, 1, refused)
    assert.match(lines[0]!, name)
  })

  it("finishes the call under way when it is told to stop, also under npm, and exits 0", {
    timeout: TIMEOUT_MS
  }, async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const server = await startServer({ env: { SLUICE_LIMIT_PER_MINUTE: "100000" } })
      const answer = call(server, "/v1/index", batch(1, 400))
      await eventually(async () => ((await balance(server)).held > 0 ? true : undefined))
      const exit = await server.kill(signal)
      assert.deepStrictEqual(exit, { code: 0, signal: null })
      assert.strictEqual((await answer).status, 200)
    }
  })

  it("writes no prompt, document, query, key or embedding to its log", { timeout: TIMEOUT_MS }, async () => {
    const canary = "canary7f3a"
    const server = await startServer({ env: { SLUICE_LOG_LEVEL: "Trace" } })
    const document = { id: canary, title: canary, content: `${canary} text`, metadata: { [canary]: canary } }
    await call(server, "/v1/generate", { prompt: canary, options: { system: canary } })
    await call(server, "/v1/generate", { prompt: { [canary]: 1 } })
    await call(server, "/v1/embed", { texts: [canary] })
    await call(server, "/v1/index", { collection: "c", documents: [document] })
    await call(server, "/v1/search", { collection: "c", query: canary })
    await call(server, "/v1/search", { collection: canary, query: canary })
    await call({ ...server, apiKey: canary.repeat(4) }, "/v1/embed", { texts: [canary] })
    await call(server, "/graphql", { query: `mutation { generate(input: {prompt: "${canary}"}) { text } }` })
    await call(server, "/graphql", { query: `{ ${canary} }` })
    await server.kill("SIGTERM")
    assert.include(server.stderr, "/v1/generate")
    assert.notInclude(server.stdout + server.stderr, canary)
    assert.notInclude(server.stdout + server.stderr, server.apiKey)
  })

  it("has every acknowledged document after kill -9, no half of the others, and releases their holds", {
    timeout: TIMEOUT_MS
  }, async () => {
    const dataDir = await dataDirectory()
    const server = await startServer({ dataDir, env: { SLUICE_LIMIT_PER_MINUTE: "100000" } })
    const acknowledged: Array<number> = []
    for (let number = 1; number <= 3; number++) {
      assert.strictEqual((await call(server, "/v1/index", batch(number, 30))).status, 200)
      acknowledged.push(number)
    }
    const underWay = call(server, "/v1/index", batch(4, 400)).then(
      ({ status }) => `answered ${status}`,
      () => "cut"
    )
    await eventually(async () => ((await balance(server)).held > 0 ? true : undefined))
    await server.kill("SIGKILL")
    assert.strictEqual(await underWay, "cut")

    const next = await startServer({ dataDir, env: { SLUICE_LIMIT_PER_MINUTE: "100000" } })
    for (const number of [...acknowledged, 4]) {
      const query = { collection: "papers", query: `Batch${number}`, top_k: 100 }
      const { json } = await call(next, "/v1/search", query)
      const found = json.data.results.filter(({ id }: { readonly id: string }) => id.startsWith(`${number}-`)).length
      if (number <= 3) assert.strictEqual(found, 30, `batch ${number}`)
      else assert.include([0, 100], found, "half of a batch")
    }
    const released = await eventually(async () => {
      const credits = await balance(next)
      return credits.held === 0 ? credits : undefined
    })
    assert.strictEqual(released.balance + released.spent, released.granted)
    assert.isAtLeast(released.spent, acknowledged.length * 15)
  })
})

it("is started by npm as by hand: told to stop, it drains and exits 0", { timeout: TIMEOUT_MS }, async () => {
  const dataDir = await dataDirectory()
  const npm = spawn("npm", ["start", "--silent"], {
    cwd: join(import.meta.dirname, ".."),
    env: { ...process.env, SLUICE_DATA_DIR: dataDir, PORT: String(await freePort()) }
  })
  onTestFinished(() => {
    npm.kill("SIGKILL")
  })
  let output = ""
  npm.stdout.on("data", (text) => (output += text))
  while (!output.includes("listens on") && npm.exitCode === null) await once(npm.stdout, "data")
  npm.kill("SIGTERM")
  const [code] = await once(npm, "exit")
  assert.strictEqual(code, 0)
  assert.isTrue(existsSync(join(dataDir, "api-key")))
  assert.include(readFileSync(join(dataDir, "api-key"), "utf8"), "sl_")
})
