import { assert, describe, it } from "vitest"
import { differences } from "./ReadmeAnswer.ts"

describe("an answer that a document shows", () => {
  const same: ReadonlyArray<readonly [name: string, actual: unknown, shown: unknown]> = [
    ["equal values", { a: [1, "b", true, null] }, { a: [1, "b", true, null] }],
    ["instants", { at: "2026-11-20T13:00:00.000Z" }, { at: "2025-01-01T00:00:00.000Z" }],
    ["UUIDs", "0b7c2c4e-9d36-4b57-9d3e-7f1f7a3b1c22", "11111111-2222-3333-4444-555555555555"],
    ["identifiers with a prefix", "req_01jd3h9x2k4m5n6p7q8r", "req_01aaaaaaaaaaaaaaaaaa"],
    ["durations", { execution_time_ms: 12 }, { execution_time_ms: 834 }],
    ["the digits that are shown", { score: 0.71234, credits: 0.0154 }, { score: 0.71, credits: 0.015 }],
    ["texts with a gap", "Sluice answers, at length.", "Sluice ... length."],
    ["lists that go on", [0.1, 0.2, 0.3], [0.1, "..."]]
  ]
  it.each(same)("agrees in %s", (_name, actual, shown) => {
    assert.deepStrictEqual(differences(actual, shown), [])
  })

  const different: ReadonlyArray<readonly [name: string, actual: unknown, shown: unknown, difference: string]> = [
    ["a value", { a: { b: 1 } }, { a: { b: 2 } }, "$.a.b: 1, not 2"],
    ["a text", "yes", "no", '$: "yes", not "no"'],
    ["a type", { a: "1" }, { a: 1 }, '$.a: "1", not 1'],
    ["a key too many", { a: 1, b: 2 }, { a: 1 }, "$.b: not shown"],
    ["a key too few", { a: 1 }, { a: 1, b: 2 }, "$.b: not there"],
    ["a list's length", [1, 2], [1], "$: 2 items, not 1"],
    ["a list that is too short to go on", [], [1, "..."], "$: 0 items, not 1"],
    ["an item", [{ id: "a" }], [{ id: "b" }], '$[0].id: "a", not "b"'],
    ["a digit that is shown", 0.0164, 0.015, "$: 0.0164, not 0.015"],
    ["a fraction for a whole number", 1.001, 1, "$: 1.001, not 1"],
    ["a list for an object", [], {}, "$: [], not {}"],
    ["nothing for an object", null, {}, "$: null, not {}"],
    ["a word for an identifier", "none", "req_01aaaaaaaaaaaaaaaaaa", '$: "none", not "req_01aaaaaaaaaaaaaaaaaa"'],
    ["a dot for any letter", "1x0", "1.0", '$: "1x0", not "1.0"'],
    ["an inherited key", {}, { constructor: 1 }, "$.constructor: not there"]
  ]
  it.each(different)("differs in %s", (_name, actual, shown, difference) => {
    assert.deepStrictEqual(differences(actual, shown), [difference])
  })
})
