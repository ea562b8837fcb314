import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"

const root = join(import.meta.dirname, "../..")
const read = (path: string) => readFileSync(join(root, path), "utf8")

/** The names that a source reads: the literals given to `Config`, and those that are plainly a variable of ours. */
const namesRead = (source: string) => [
  ...source.matchAll(/\bConfig\.\w+\(\s*(?:[\w.]+\s*,\s*)?"([A-Z][A-Z0-9_]*)"/g),
  ...source.matchAll(/"(SLUICE_[A-Z0-9_]+|OTEL_[A-Z0-9_]+|[A-Z0-9]+_(?:API_KEY|BASE_URL))"/g)
]

describe(".env.example", () => {
  it("lists every environment variable that the sources read, and no other", () => {
    const used = globSync("src/**/*.ts", { cwd: root }).flatMap((path) => namesRead(read(path)).map(([, name]) => name))
    const listed = [...read(".env.example").matchAll(/^#?\s?([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name)
    assert.isAbove(used.length, 0)
    assert.deepStrictEqual([...new Set(listed)].sort(), [...new Set(used)].sort())
    assert.strictEqual(new Set(listed).size, listed.length, "a variable is listed twice")
  })

  it("would miss none of the ways in which a variable is read", () => {
    const source = `
      Config.Int("SLUICE_CREDITS").pipe(Config.withDefault(1000))
      Config.option(Config.Redacted("DATABASE_URL"))
      Config.schema(Schema.Port, "PORT")
      Config.String(
        "HOST"
      )
      { key: "VENDOR_API_KEY", baseUrl: "VENDOR_BASE_URL" }
      "NOT_ONE" + Effect.fn("Credits.hold")
    `
    assert.sameMembers(
      namesRead(source).map(([, name]) => name),
      ["SLUICE_CREDITS", "SLUICE_CREDITS", "DATABASE_URL", "PORT", "HOST", "VENDOR_API_KEY", "VENDOR_BASE_URL"]
    )
  })
})
