import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { startServer } from "../support/Process.ts"
import { examplesOf, runExamples } from "../support/Readme.ts"

describe("README.md", () => {
  it("shows examples that work as they stand, from top to bottom", { timeout: 120_000 }, async () => {
    const examples = examplesOf(await readFile(join(import.meta.dirname, "../../README.md"), "utf8"))
    assert.isAbove(examples.filter(({ notRun }) => notRun === undefined).length, 0)
    await using server = await startServer()
    const problems = await runExamples(examples, {
      directory: join(server.dataDir, "examples"),
      env: { SLUICE_URL: server.url, SLUICE_KEY: server.apiKey }
    })
    assert.deepStrictEqual(problems, [])
  })
})
