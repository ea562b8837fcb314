import { assert, describe, it } from "@effect/vitest"
import { countTokens, estimateTokens } from "../../src/domain/Tokens.ts"

describe("the token count", () => {
  it("is the encoding's own for ordinary text", () => {
    assert.strictEqual(countTokens("hello world"), 2)
    assert.strictEqual(countTokens("The quick brown fox jumps over the lazy dog."), 10)
    assert.strictEqual(countTokens(""), 0)
  })

  it("stays close to it when the text has a very long word", () => {
    const text = "The quick brown fox jumps over the lazy dog. ".repeat(20)
    assert.approximately(countTokens(`${text}${"ab".repeat(50)}`) - countTokens(text), 50, 5)
  })

  it("counts the text of a special token as text", () => {
    assert.isAbove(countTokens("<|endoftext|>"), 1)
  })

  it("takes time in proportion to the length for a word without end", { timeout: 5_000 }, () => {
    assert.strictEqual(countTokens("a".repeat(400_000)), 50_000)
  })

  it("survives broken surrogates", () => {
    assert.isAbove(countTokens("\ud800"), 0)
  })
})

describe("the token estimate", () => {
  const sentence = "The quick brown fox jumps over the lazy dog. "

  it("is the count for texts of ordinary length", () => {
    assert.strictEqual(estimateTokens(sentence.repeat(100)), countTokens(sentence.repeat(100)))
  })

  it("is near the count for long ones", () => {
    const long = sentence.repeat(5_000)
    assert.approximately(estimateTokens(long) / countTokens(long), 1, 0.01)
  })
})
