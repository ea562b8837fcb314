import { assert, describe, it } from "@effect/vitest"
import { printable, table } from "../../src/cli/Table.ts"

describe("Tables on a terminal", () => {
  it("have columns as wide as what is in them, whatever letters it has, and a dash for nothing", () => {
    assert.strictEqual(
      table(
        ["ID", "NAME", "COUNT"],
        [
          ["1", "Zoë 🦊", 12],
          ["longer", null, 0]
        ]
      ),
      ["ID      NAME   COUNT", "1       Zoë 🦊  12", "longer  -      0"].join("\n")
    )
  })

  it("hold nothing that could steer the terminal", () => {
    assert.strictEqual(printable("a\u001b[2Jb\r\nc\u202ed"), "a [2Jb c d")
    assert.strictEqual(table(["A"], [["x\u001b]0;title\u0007y"]]), "A\nx ]0;title y")
  })
})
