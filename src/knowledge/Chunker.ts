import { type Piece, pieces } from "./Pieces.ts"
import { type Section, sections } from "./Sections.ts"

/** A part of a document that is embedded and found as one. */
export interface Chunk {
  /** The raw text. NUL and lone surrogates, which no database column can hold, stand as U+FFFD. */
  readonly content: string
  /** What is embedded and searched: title and heading path, then the raw text. */
  readonly searchable: string
}

/** Longest chunk, in tokens. */
export const CHUNK_TOKENS = 400
/** How much of its end a chunk shares with the next of the same section, in tokens. */
export const OVERLAP_TOKENS = 50
/** The title is repeated with each chunk, so a very long one is cut for search; the stored title is not. */
const MAX_TITLE_LENGTH = 1000

/** How good a place to cut lies between two pieces; the higher, the better. */
const Boundary = { inWord: 0, word: 1, sentence: 2, line: 3, paragraph: 4 } as const

const boundaryBetween = (before: string, after: string): number => {
  const space = /^\s*/.exec(after)![0]
  const firstBreak = space.indexOf("\n")
  if (firstBreak !== -1) return space.includes("\n", firstBreak + 1) ? Boundary.paragraph : Boundary.line
  if (/[。！？]$/u.test(before)) return Boundary.sentence
  if (space === "") return Boundary.inWord
  return /[.!?…]["'”’)\]]{0,4}$/u.test(before) ? Boundary.sentence : Boundary.word
}

/** A piece that knows how good a place to cut its start is. */
interface Cuttable extends Piece {
  readonly boundary: number
}

/**
 * Cuts one section into spans of at most `CHUNK_TOKENS`: at a paragraph's end in the second half of the span if there
 * is one, else a line's, else a sentence's, else a word's, else between characters. Each span is looked at once and its
 * cut lies in its second half, so the time is linear.
 */
function* spans(text: string): Generator<readonly [start: number, end: number]> {
  let window: Array<Cuttable> = []
  let tokens = 0
  for (const piece of pieces(text)) {
    if (tokens + piece.tokens > CHUNK_TOKENS) {
      const cut = bestCut(window)
      yield [window[0]!.start, window[cut]?.start ?? piece.start]
      window = window.slice(overlapFrom(window, cut))
      tokens = window.reduce((sum, each) => sum + each.tokens, 0)
    }
    window.push({ ...piece, boundary: boundaryBetween(window.at(-1)?.text ?? "", piece.text) })
    tokens += piece.tokens
  }
  if (window.length > 0) yield [window[0]!.start, text.length]
}

/** The index of the piece that the next span begins with; `window.length` when the end is the best place. */
const bestCut = (window: ReadonlyArray<Cuttable>): number => {
  let best = window.length
  let bestBoundary: number = Boundary.inWord
  let tokens = 0
  for (const [index, piece] of window.entries()) {
    if (tokens >= CHUNK_TOKENS / 2 && piece.boundary >= bestBoundary && index > 0) {
      best = index
      bestBoundary = piece.boundary
    }
    tokens += piece.tokens
  }
  return best
}

/** Where the next span starts so that it repeats at most `OVERLAP_TOKENS` before the cut, from a good place on. */
const overlapFrom = (window: ReadonlyArray<Cuttable>, cut: number): number => {
  let best = cut
  let bestBoundary: number = Boundary.word
  let tokens = 0
  for (let index = cut - 1; index > 0; index--) {
    tokens += window[index]!.tokens
    if (tokens > OVERLAP_TOKENS) break
    if (window[index]!.boundary >= bestBoundary) {
      best = index
      bestBoundary = window[index]!.boundary
    }
  }
  return best
}

const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\u{FFFD}")

/**
 * Splits a document into chunks in the order of its text. Markdown headings start new chunks. Any text gives at least
 * one chunk, a blank one too.
 */
export function* chunk(document: { readonly content: string; readonly title?: string | undefined }): Generator<Chunk> {
  const title = storable(document.title?.slice(0, MAX_TITLE_LENGTH) ?? "")
  const text = storable(document.content)
  let blank = true
  for (const section of sections(text)) {
    for (const content of contents(section.text)) {
      blank = false
      yield { content, searchable: searchable(title, section, content) }
    }
  }
  if (blank) yield { content: text.slice(0, CHUNK_TOKENS), searchable: title }
}

function* contents(text: string): Generator<string> {
  for (const [start, end] of spans(text)) {
    const content = text.slice(start, end).trim()
    if (content !== "") yield content
  }
}

const searchable = (title: string, section: Section, content: string): string => {
  const isFirst = section.text.trimStart().startsWith(content)
  const path = isFirst || section.heading === undefined ? section.path : [...section.path, section.heading]
  return [title, path.join(" > "), content]
    .filter((part) => part !== "")
    .join("\n")
    .toWellFormed()
}
