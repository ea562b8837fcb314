import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { analyze } from "../../src/domain/Analyzer.ts"

describe("the text analyzer", () => {
  it("keeps English stems in order and drops what carries no topic", () => {
    assert.deepStrictEqual(analyze("The foxes were jumping over 2 Dogs' kennels, again!"), [
      "fox",
      "jump",
      "2",
      "dog",
      "kennel"
    ])
  })

  it("drops English contractions, but keeps a letter that stands alone", () => {
    assert.deepStrictEqual(analyze("T cells don't need the dog's vitamin D"), [
      "t",
      "cell",
      "need",
      "dog",
      "vitamin",
      "d"
    ])
  })

  it("gives one form to spellings that differ in case, accents and width", () => {
    assert.deepStrictEqual(analyze("CAFÉ ＡＢＣ İzmir"), analyze("cafe\u0301 abc izmir"))
    assert.deepStrictEqual(analyze("Ёлка ΆΛΦΑ"), analyze("елка αλφα"))
  })

  it("pairs the characters of scripts that have no spaces", () => {
    assert.deepStrictEqual(analyze("GPT模型 東京タワー 茶"), ["gpt", "模型", "東京", "京タ", "タワ", "ワー", "茶"])
    assert.includeMembers(analyze("인공지능을 배우다"), analyze("인공지능"))
  })

  it("keeps marks that belong to a letter", () => {
    assert.deepStrictEqual(analyze("हिन्दी"), ["हिन्दी"])
  })

  it("cuts a word that is too long into pieces", () => {
    assert.deepStrictEqual(
      analyze("0".repeat(150)).map((term) => term.length),
      [64, 64, 22]
    )
  })

  it("gives short, non-empty terms without spaces for any text, whatever its normal form", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        const terms = analyze(text)
        for (const term of terms) {
          assert.isAbove(term.length, 0)
          assert.isAtMost(Array.from(term).length, 64)
          assert.notMatch(term, /\s/)
        }
        assert.deepStrictEqual(analyze(text.normalize("NFD")), analyze(text.normalize("NFC")))
      })
    )
  })

  it("survives broken surrogates", () => {
    assert.deepStrictEqual(analyze("a\ud800b \udfff vector"), ["b", "vector"])
  })
})
