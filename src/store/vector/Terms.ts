/** The terms of a text with their frequencies, small enough to keep for thousands of chunks at once. */
export interface TermVector {
  /**
   * Distinct terms as 32-bit hashes. Two of 100,000 different terms meet by chance about once; they then count as one
   * term, which moves a few scores a little.
   */
  readonly hashes: Int32Array
  /** How often each occurs, at most 255, where BM25 has long levelled off. */
  readonly frequencies: Uint8Array
  /** How many terms the text has, repeated ones included; at most 8,191. */
  readonly length: number
}

export const MAX_FREQUENCY = 255
export const MAX_LENGTH = 8191

/** FNV-1a over UTF-16 code units, with a final mix so that short terms spread over all 32 bits. */
const hash = (term: string): number => {
  let value = 0x811c9dc5
  for (let index = 0; index < term.length; index++) {
    value = Math.imul(value ^ term.charCodeAt(index), 0x01000193)
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  return (value ^ (value >>> 13)) | 0
}

/** Counts terms, as they come from the analyzer. */
export const termVector = (terms: ReadonlyArray<string>): TermVector => {
  const counts = new Map<number, number>()
  for (const term of terms) {
    const key = hash(term)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return {
    hashes: Int32Array.from(counts.keys()),
    frequencies: Uint8Array.from(counts.values(), (count) => Math.min(count, MAX_FREQUENCY)),
    length: Math.min(terms.length, MAX_LENGTH)
  }
}
