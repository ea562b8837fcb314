import { once } from "node:events"
import { createServer } from "node:http"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import packageJson from "../../package.json" with { type: "json" }
import { type CommandResult, runCommand, sluice } from "../support/CommandLine.ts"
import { freePort, type ServerProcess, startServer } from "../support/Process.ts"

describe("The command line, against a server in a process of its own", { timeout: 60_000 }, () => {
  let server: ServerProcess
  let env: Readonly<Record<string, string>>

  beforeAll(async () => {
    server = await startServer()
    // No key: the commands find the one that the server wrote.
    env = { SLUICE_URL: server.url, SLUICE_DATA_DIR: server.dataDir }
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const run = (...args: ReadonlyArray<string>) => runCommand(args, env)

  const json = async (...args: ReadonlyArray<string>) => {
    const result = await run(...args, "--json")
    assert.strictEqual(result.code, 0, result.stderr)
    return JSON.parse(result.stdout)
  }

  const statusWith = async (key: string) =>
    (await fetch(`${server.url}/v1/`, { headers: { authorization: `Bearer ${key}` } })).status

  const assertFailedInOneLine = ({ code, stderr, stdout }: CommandResult, message: RegExp) => {
    assert.deepStrictEqual(
      { code, stdout, lines: stderr.trimEnd().split("\n").length },
      { code: 1, stdout: "", lines: 1 }
    )
    assert.match(stderr, message)
  }

  it("makes, lists, rotates and revokes keys", async () => {
    const made = (await json("keys", "create", "backend", "--scope", "invoke", "--scope", "manage")).createApiKey
    assert.deepInclude(made.apiKey, { name: "backend", scopes: ["invoke", "manage"], status: "active" })
    assert.strictEqual(await statusWith(made.secret), 200)

    const rotated = (await json("keys", "rotate", made.apiKey.id, "--overlap-seconds", "0")).rotateApiKey
    assert.strictEqual(await statusWith(rotated.secret), 200)
    assert.strictEqual(await goneWithin5s(made.secret), 401)

    const revoked = await run("keys", "revoke", rotated.apiKey.id)
    assert.match(revoked.stdout, new RegExp(`^${rotated.apiKey.id} +backend +invoke,manage +revoked`, "m"))
    assert.strictEqual(await goneWithin5s(rotated.secret), 401)

    const listed = await run("keys", "list")
    assert.match(listed.stdout, /^ID +NAME +SCOPES +STATUS +CREATED +EXPIRES +LAST USED$/m)
    assert.match(listed.stdout, new RegExp(`^${made.apiKey.id} +backend +invoke,manage +expired`, "m"))
    assert.match(listed.stdout, / bootstrap +invoke,manage,admin,operator +active/)
    assert.notInclude(listed.stdout, made.secret)
  })

  /** The status that a key gets in the end, asked for 5 seconds at most. */
  const goneWithin5s = async (key: string) => {
    const deadline = performance.now() + 5000
    for (;;) {
      const status = await statusWith(key)
      if (status === 401 || performance.now() > deadline) return status
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  it("shows the pool, its ledger and usage, grants credits once, makes organizations and sets limits", async () => {
    const organization = await run("organizations", "create", "Acme", "--id", "acme", "--credits", "5")
    const key = /sl_\w+/.exec(organization.stdout)?.[0] ?? ""
    assert.match(organization.stdout, /^acme +Acme$/m)
    for (const _ of [1, 2]) {
      const granted = await run("credits", "grant", "acme", "2.5", "--id", "invoice-1")
      assert.match(granted.stdout, /^acme +7\.5 +0 +0 +7\.5$/m)
    }
    const page = await run("credits", "--organization", "acme", "--ledger", "--first", "1")
    assert.match(page.stdout, /grant +grant +2\.5 +grant\/acme\/invoice-1$/m)
    const cursor = /--after (\S+)/.exec(page.stdout)?.[1] ?? ""
    const rest = (await json("credits", "--ledger", "--organization", "acme", "--after", cursor)).credits.ledger
    assert.deepStrictEqual(
      rest.edges.map(({ node }: { node: { amount: number } }) => node.amount),
      [5]
    )
    assert.match((await run("limits", "set", "acme", "--per-minute", "3")).stdout, /^acme +3 +10000$/m)
    const own = await run("credits", "--key", key)
    assert.match(own.stdout, /^acme +7\.5/m)
    assert.match((await run("usage")).stdout, /^DAY +OPERATION +MODEL +CHARGES +CREDITS\nall +all +all +0 +0$/m)
  })

  it("fails with one line that says why, and exit code 1", async () => {
    assertFailedInOneLine(await run("keys", "revoke", "nothing"), /^There is no such key\. \(key_not_found\)$/m)
    assertFailedInOneLine(await run("usage", "--from", "soon"), /from: Expected a UTC day/)
    assertFailedInOneLine(await run("credits", "--key", "sl_wrong"), /\(unauthorized\)/)
    const nobody = `http://127.0.0.1:${await freePort()}`
    assertFailedInOneLine(await run("keys", "list", "--url", nobody), /Cannot reach http:.*is the server running\?/)
    assertFailedInOneLine(await run("keys", "list", "--url", "localhost:4000"), /Not an http address/)
    const elsewhere = await runCommand(["keys", "list"], { SLUICE_URL: server.url, SLUICE_DATA_DIR: "/none" })
    assertFailedInOneLine(elsewhere, /No API key: give --key or SLUICE_KEY/)
  })

  it("says so when something else than Sluice answers", async () => {
    const other = createServer((_, response) => response.end("<html>")).listen(0, "127.0.0.1")
    await once(other, "listening")
    const address = other.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const result = await run("keys", "list", "--url", `http://127.0.0.1:${port}`)
    other.close()
    assertFailedInOneLine(result, /does not answer as Sluice does/)
  })

  it("leaves no secret in the server's log", async () => {
    const { secret } = (await json("keys", "create", "logged", "--scope", "invoke")).createApiKey
    await statusWith(secret)
    await statusWith(`${secret}x`)
    const log = server.stdout + server.stderr
    assert.include(log, "POST /graphql 200")
    for (const key of [secret, server.apiKey]) assert.notInclude(log, key.split("_")[2]!)
  })

  it("is installed as `sluice`, which prints to standard output and fails with exit code 1", async () => {
    const options = { env, cwd: server.dataDir }
    const [version, listed, failed] = await Promise.all([
      sluice(["--version"], options),
      sluice(["keys", "list"], options),
      sluice(["keys", "revoke", "nothing"], options)
    ])
    assert.include(version.stdout, packageJson.version)
    assert.include(listed.stdout, "bootstrap")
    assertFailedInOneLine(failed, /^sluice: There is no such key\. \(key_not_found\)$/m)
  })
})
