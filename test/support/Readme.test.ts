import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type ServerProcess, startServer } from "./Process.ts"
import { examplesOf, runExamples } from "./Readme.ts"

const fence = "```"
const block = (language: string, ...lines: ReadonlyArray<string>) => [fence + language, ...lines, fence].join("\n")

describe("examplesOf", () => {
  it("finds bash blocks, their answers and the reason why one is not run", () => {
    const markdown = [
      "# A sample",
      block("bash", "echo 1", "", "echo 2"),
      "prints",
      block("json", "1"),
      "<!-- not run: needs a vendor key -->",
      "",
      block("bash", "exit 1"),
      block("ts", "const a = 1"),
      block("json", "{}")
    ].join("\n")
    assert.deepStrictEqual(examplesOf(markdown), [
      { line: 2, script: "echo 1\n\necho 2", answer: "1" },
      { line: 13, script: "exit 1", notRun: "needs a vendor key" }
    ])
  })

  it("refuses a block without an end", () => {
    assert.throws(() => examplesOf(`${fence}bash\necho 1`), "line 1")
  })
})

describe("runExamples", () => {
  let server: ServerProcess
  let directory: string

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "sluice-readme-test-"))
    server = await startServer({ entry: join(import.meta.dirname, "FakeServer.ts") })
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    await rm(directory, { recursive: true, force: true })
  })

  const problems = (...blocks: ReadonlyArray<string>) =>
    runExamples(examplesOf(blocks.join("\n")), {
      directory,
      env: { SLUICE_URL: server.url, SLUICE_KEY: server.apiKey }
    })
  const curl = (path: string) => block("bash", `curl "$SLUICE_URL${path}" -H "Authorization: Bearer $SLUICE_KEY"`)

  it("runs blocks in order against the server and compares their answers", async () => {
    const answer = block("json", '{ "path": "/v1/", "authorization": "Bearer sl_test_key" }')
    assert.deepStrictEqual(await problems(curl("/v1/"), answer), [])
    assert.deepStrictEqual(
      await problems(block("bash", "echo 7 > kept"), block("bash", "cat kept"), block("json", "7")),
      []
    )
  })

  it("reports an answer that differs, with the line of the block", async () => {
    const answer = block("json", '{ "path": "/v2/", "authorization": "Bearer sl_test_key" }')
    assert.deepStrictEqual(await problems("", curl("/v1/"), answer), ['line 2: $.path: "/v1/", not "/v2/"'])
    assert.match((await problems(block("bash", "echo hello"), answer)).join(), /^line 1: not JSON/)
  })

  it("reports a command that fails anywhere in a block", async () => {
    assert.match((await problems(block("bash", "false", "true"))).join(), /^line 1: exit code 1/)
    assert.match((await problems(block("bash", 'echo "$NOT_SET"'))).join(), /exit code 1: .*NOT_SET/)
    assert.match((await problems(block("bash", "exit 3 | cat"))).join(), /exit code 3/)
  })

  it("reports an HTTP error, unless an error is what the document shows", async () => {
    assert.match((await problems(curl("/status/402"))).join(), /^line 1: exit code 22/)
    const shown = block("json", '{ "success": false, "error": { "code": "insufficient_credits" } }')
    assert.deepStrictEqual(await problems(curl("/status/402"), shown), [])
    assert.match((await problems(curl("/v1/"), shown)).join(), /^line 1: exit code 0/)
  })

  it("reports GraphQL errors, which come with status 200", async () => {
    const failing = block("bash", `echo '{"errors":[{"message":"no"}],"data":null}'`)
    assert.match((await problems(failing)).join(), /^line 1: GraphQL errors: .*no/)
    assert.deepStrictEqual(
      await problems(failing, block("json", '{ "errors": [{ "message": "no" }], "data": null }')),
      []
    )
  })

  it("leaves out a block that is marked so", async () => {
    assert.deepStrictEqual(await problems("<!-- not run: it fails -->", block("bash", "exit 1")), [])
  })
})
