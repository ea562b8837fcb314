import { assert, describe, it } from "@effect/vitest"
import { Exit, Schema } from "effect"
import { Document } from "../../src/domain/Collection.ts"

const decode = Schema.decodeUnknownExit(Document)

describe("Document", () => {
  it.each(["a", "\u{1F984}", "'; --", " ", "x".repeat(512)])("takes the id %j", (id) => {
    assert.isTrue(Exit.isSuccess(decode({ id, content: "text" })))
  })

  it.each(["", "a\0", "\ud83e", "x\udd84", "x".repeat(513)])("refuses the id %j", (id) => {
    assert.isTrue(Exit.isFailure(decode({ id, content: "text" })))
  })
})
