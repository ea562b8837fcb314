import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { countTokens } from "../../src/domain/Tokens.ts"
import { CHUNK_TOKENS, type Chunk, chunk, OVERLAP_TOKENS } from "../../src/knowledge/Chunker.ts"

const chunks = (content: string, title?: string): Array<Chunk> => [...chunk({ content, title })]
const contents = (content: string): Array<string> => chunks(content).map((each) => each.content)

const sentences = (count: number): string =>
  Array.from({ length: count }, (_, index) => `Sentence number ${index} says a little about foxes and hounds.`).join(
    " "
  )

/** How much of the end of one chunk the next repeats. */
const overlap = (before: string, after: string): string => {
  for (let length = Math.min(before.length, after.length); length > 0; length--) {
    if (before.endsWith(after.slice(0, length))) return after.slice(0, length)
  }
  return ""
}

describe("the chunker", () => {
  it("keeps a short text whole", () => {
    assert.deepStrictEqual(chunks("  One paragraph.\n\nAnother one.\n"), [
      { content: "One paragraph.\n\nAnother one.", searchable: "One paragraph.\n\nAnother one." }
    ])
  })

  it("cuts a long text at sentences, into chunks within the limit that overlap and cover all of it", () => {
    const text = sentences(200)
    const parts = contents(text)
    assert.isAbove(parts.length, 4)
    let covered = 0
    for (const [index, part] of parts.entries()) {
      assert.isAtMost(countTokens(part), CHUNK_TOKENS)
      assert.match(part, /^Sentence .*\.$/)
      if (index > 0) {
        const shared = overlap(parts[index - 1]!, part)
        assert.isAbove(countTokens(shared), 10)
        assert.isAtMost(countTokens(shared), OVERLAP_TOKENS)
      }
      const at = text.indexOf(part)
      assert.isAtMost(at, covered + 1)
      covered = at + part.length
    }
    assert.strictEqual(covered, text.length)
  })

  it("prefers the end of a paragraph to that of a line, and that to a sentence's", () => {
    const [first] = contents(`${sentences(14)}\n${sentences(3)}\n\n${sentences(4)}\n${sentences(30)}`)
    assert.strictEqual(first, `${sentences(14)}\n${sentences(3)}`)
    const [line] = contents(`${sentences(20)}\n${sentences(30)}`)
    assert.strictEqual(line, sentences(20))
  })

  it("starts a chunk at each Markdown heading and gives it title and heading path, not the raw text", () => {
    const body = sentences(8)
    const parts = chunks(`# Animals\n${body}\n## Foxes\n${body}\n### Dens\n${body}\n## Hounds\n${body}`, "Guide")
    assert.deepStrictEqual(
      parts.map(({ searchable }) => searchable.split("\n").slice(0, 3)),
      [
        ["Guide", "# Animals", body],
        ["Guide", "Animals", "## Foxes"],
        ["Guide", "Animals > Foxes", "### Dens"],
        ["Guide", "Animals", "## Hounds"]
      ]
    )
    assert.strictEqual(parts[3]!.content, `## Hounds\n${body}`)
  })

  it("gives later chunks of a section its own heading", () => {
    const [first, second] = chunks(`# Animals\n\n## Foxes\n${sentences(60)}`)
    assert.isTrue(first!.searchable.startsWith("# Animals\n\n## Foxes\nSentence"))
    assert.isTrue(second!.searchable.startsWith("Animals\nSentence"))
  })

  it("sees no headings in fenced code", () => {
    const code = `\`\`\`sh\n# not a heading\n${"echo fox\n".repeat(30)}# nor this\n\`\`\``
    assert.deepStrictEqual(contents(`${sentences(6)}\n${code}`), [`${sentences(6)}\n${code}`])
  })

  it("makes few chunks of a text that is nothing but headings", () => {
    assert.isBelow(chunks("# a\nb\n".repeat(10_000)).length, 400)
  })

  it("stores what a database cannot hold as replacement characters", () => {
    assert.deepStrictEqual(chunks("a\0b \ud800c", "t\0"), [
      { content: "a\u{FFFD}b \u{FFFD}c", searchable: "t\u{FFFD}\na\u{FFFD}b \u{FFFD}c" }
    ])
  })

  it("makes one chunk of a blank text", () => {
    assert.deepStrictEqual(chunks(" \n\t", "Title"), [{ content: " \n\t", searchable: "Title" }])
  })

  it("bounds what a long title and long headings add to each chunk", () => {
    const parts = chunks(`# ${"h".repeat(100_000)}\n${sentences(100)}`, "t".repeat(4096))
    assert.isTrue(parts.every(({ content, searchable }) => searchable.length - content.length < 1500))
  })

  it("covers any text with chunks that are well formed, not blank and of bounded size", () => {
    const character = fc.oneof(
      { weight: 6, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
      {
        weight: 2,
        arbitrary: fc.constantFrom("\n\n", "\n# h\n", "```\n", "。", "漢字".repeat(300), "👩‍👩‍👧".repeat(200))
      },
      { weight: 1, arbitrary: fc.constantFrom("\ud800", "\udc00", "\0", " ".repeat(500), "x".repeat(3000)) }
    )
    fc.assert(
      fc.property(fc.array(character, { minLength: 1, maxLength: 30 }), (parts) => {
        const text = parts.join("")
        const stored = text.toWellFormed().replaceAll("\0", "\u{FFFD}")
        let covered = 0
        for (const { content, searchable } of chunks(text)) {
          assert.isTrue(content.isWellFormed() && searchable.isWellFormed())
          assert.isBelow(content.length, CHUNK_TOKENS * 64)
          const at = stored.indexOf(content, Math.max(0, covered - content.length))
          assert.notStrictEqual(at, -1)
          covered = Math.max(covered, at + content.length)
        }
      })
    )
  })

  it.each([
    ["one word", "a".repeat(1 << 20)],
    ["white space", " \n".repeat(1 << 19)],
    ["Chinese", "漢字仮名".repeat(1 << 18)],
    ["short lines", "a\n".repeat(1 << 19)],
    ["headings", "###### a\n\n".repeat(1 << 16)],
    ["numbers", Array.from({ length: 1 << 17 }, (_, index) => index).join(" ")]
  ])("gets through 1 MiB of %s", (_, text) => {
    const parts = chunks(text)
    assert.isAbove(parts.length, 0)
    // An amplification bound: each chunk but the last of a section is at least half full, whatever the text.
    assert.isBelow(parts.length, text.length / 80)
  })
})
