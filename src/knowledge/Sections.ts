/** A part of a Markdown text that one heading governs. */
export interface Section {
  /** Raw text, its own heading line included. */
  readonly text: string
  /** The headings above it, outermost first. Its own heading is not among them: it stands in `text`. */
  readonly path: ReadonlyArray<string>
  /** Its own heading, if it begins with one. */
  readonly heading: string | undefined
}

const HEADING = /^ {0,3}(#{1,6})[ \t]+(.+)$/
const FENCE = /^ {0,3}(`{3,}|~{3,})/

/** Headings are repeated with each chunk below them, so a very long one is cut. */
const MAX_HEADING_LENGTH = 200

/** A heading starts a new section only when the one before has this many characters, or a list of headings would be. */
const MIN_SECTION_LENGTH = 200

/** Splits a text at its Markdown headings. A text without any is one section; fenced code has no headings. */
export function* sections(text: string): Generator<Section> {
  const above: Array<{ readonly level: number; readonly name: string }> = []
  let section: Omit<Section, "text"> = { path: [], heading: undefined }
  let start = 0
  let fence: string | undefined
  for (let at = 0; at < text.length; at = lineEnd(text, at)) {
    const line = text.slice(at, Math.min(lineEnd(text, at), at + MAX_HEADING_LENGTH)).trimEnd()
    const mark = FENCE.exec(line)?.[1]
    if (fence === undefined) fence = mark
    else if (mark?.startsWith(fence)) fence = undefined
    const heading = fence === undefined ? HEADING.exec(line) : null
    if (heading === null) continue

    const [level, name] = [heading[1]!.length, heading[2]!]
    while (above.length > 0 && above.at(-1)!.level >= level) above.pop()
    if (at - start >= MIN_SECTION_LENGTH) {
      yield { ...section, text: text.slice(start, at) }
      start = at
    }
    if (at === start) section = { path: above.map((each) => each.name), heading: name }
    above.push({ level, name })
  }
  yield { ...section, text: text.slice(start) }
}

/** Where the line that `at` is in ends, its line break included. */
const lineEnd = (text: string, at: number): number => {
  const newline = text.indexOf("\n", at)
  return newline === -1 ? text.length : newline + 1
}
