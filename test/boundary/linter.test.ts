import { assert, describe, it } from "vitest"
import { lint } from "./Lint.ts"

describe("the linter", () => {
  const refuses = async (rule: string, sources: Readonly<Record<string, string>>) =>
    new Set((await lint(sources)).filter((refusal) => refusal.rule === rule).map(({ path }) => path))

  it("refuses circles of modules, but not of their types alone", async () => {
    const paths = await refuses("lint/suspicious/noImportCycles", {
      "src/store/A.ts": 'import { b } from "./B.ts"\nexport const a = b',
      "src/store/B.ts": 'import { c } from "./C.ts"\nexport const b = c',
      "src/store/C.ts": 'import { a } from "./A.ts"\nexport const c = a',
      "src/store/Entry.ts": 'import { a } from "./A.ts"\nexport const entry = a',
      "src/store/Service.ts":
        'import { live } from "./Live.ts"\nexport interface Shape {}\nexport const service = live',
      "src/store/Live.ts": 'import type { Shape } from "./Service.ts"\nexport const live: Shape = {}'
    })
    assert.deepStrictEqual([...paths].sort(), ["src/store/A.ts", "src/store/B.ts", "src/store/C.ts"])
  })

  it("refuses require, default exports, undeclared and development packages, and process.env in src", async () => {
    const refusals = await lint({
      "src/store/Require.ts": 'export const a = require("effect")\nimport b = require("effect")',
      "src/store/Default.ts": "export default 1",
      "src/store/Undeclared.ts": 'import "left-pad"',
      "src/store/Development.ts": 'import "vitest"',
      "src/store/Environment.ts": "export const a = process.env.HOME"
    })
    const rules = Object.fromEntries(refusals.map(({ path, rule }) => [`${path} ${rule.split("/").at(-1)}`, true]))
    assert.hasAllKeys(rules, [
      "src/store/Require.ts noCommonJs",
      "src/store/Default.ts noDefaultExport",
      "src/store/Undeclared.ts noUndeclaredDependencies",
      "src/store/Development.ts noUndeclaredDependencies",
      "src/store/Environment.ts noProcessEnv"
    ])
  })
})
