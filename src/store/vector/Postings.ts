import { MAX_FREQUENCY, MAX_LENGTH, type TermVector } from "./Terms.ts"

/** Where a term occurs among 1,024 consecutive chunk numbers: a row of the table `postings`, which documents the packing. */
export interface PostingsBlock {
  readonly term: number
  readonly block: number
  readonly entries: ReadonlyArray<number>
}

const BLOCK_BITS = 10
const FREQUENCY_BITS = 8

export const BLOCK_SIZE = 1 << BLOCK_BITS

export const blockOf = (chunk: number): number => chunk >> BLOCK_BITS

export const packEntry = (chunk: number, frequency: number, length: number): number =>
  (chunk & (BLOCK_SIZE - 1)) | (frequency << BLOCK_BITS) | (length << (BLOCK_BITS + FREQUENCY_BITS))

/** The chunk's position in its block. */
export const positionOf = (entry: number): number => entry & (BLOCK_SIZE - 1)
export const frequencyOf = (entry: number): number => (entry >> BLOCK_BITS) & MAX_FREQUENCY
export const lengthOf = (entry: number): number => (entry >> (BLOCK_BITS + FREQUENCY_BITS)) & MAX_LENGTH

/** Postings in columns, one element per term and chunk, ready for `unnest`. */
export interface PostingColumns {
  readonly terms: Array<number>
  readonly blocks: Array<number>
  readonly entries: Array<number>
}

export const postingColumns = (
  chunks: ReadonlyArray<{ readonly number: number; readonly terms: TermVector }>
): PostingColumns => {
  const columns: PostingColumns = { terms: [], blocks: [], entries: [] }
  for (const { number, terms } of chunks) {
    for (const [index, term] of terms.hashes.entries()) {
      columns.terms.push(term)
      columns.blocks.push(blockOf(number))
      columns.entries.push(packEntry(number, terms.frequencies[index]!, terms.length))
    }
  }
  return columns
}
