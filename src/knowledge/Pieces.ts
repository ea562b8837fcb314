import { countTokens } from "../domain/Tokens.ts"

/**
 * Pieces that tokens are counted by: a word of at most 32 characters with the white space before it. A longer word is
 * several pieces, and the full stops of scripts without spaces end one. The bounds keep counting linear: a byte-pair
 * encoder takes quadratic time on a long run without spaces. With the `u` flag no surrogate pair is ever split.
 */
const PIECE = /\s{0,32}(?:[^\s。！？]{1,32}[。！？]?|[。！？])|\s{1,32}/gu

/** Words repeat, so most counts are looked up. Cleared when full, which bounds it to a few megabytes. */
const counts = new Map<string, number>()
const MAX_REMEMBERED = 50_000

/** Short ASCII pieces are counted. The rest is dear to encode (up to 10 s for 1 MiB) and estimated from its bytes. */
const COUNTED = /^[\0-\x7F]{1,16}$/
const estimate = (piece: string): number => Math.ceil(Buffer.byteLength(piece) / 2)

const count = (piece: string): number => {
  if (!COUNTED.test(piece)) return estimate(piece)
  const known = counts.get(piece)
  if (known !== undefined) return known
  const counted = countTokens(piece)
  if (counts.size >= MAX_REMEMBERED) counts.clear()
  counts.set(piece, counted)
  return counted
}

/** A piece of a text, from `start` to `end` (UTF-16 offsets), `tokens` long. Pieces adjoin and cover the text. */
export interface Piece {
  readonly text: string
  readonly start: number
  readonly end: number
  readonly tokens: number
}

/**
 * Splits a text into pieces and counts the tokens of each. The sum is what the cl100k encoding gives for
 * ordinary English text; for other languages and long runs without spaces it is within a factor of about two.
 */
export function* pieces(text: string): Generator<Piece> {
  for (const match of text.matchAll(PIECE)) {
    const piece = match[0]
    yield { text: piece, start: match.index, end: match.index + piece.length, tokens: count(piece) }
  }
}
