import { BLOCK_SIZE, frequencyOf, lengthOf, type PostingsBlock, positionOf } from "./Postings.ts"
import type { TermVector } from "./Terms.ts"

/** Saturation and length normalization; the values of Robertson and Zaragoza (2009) that most engines keep. */
const K1 = 1.2
const B = 0.75

export interface Bm25Statistics {
  readonly chunkCount: number
  /** Terms of all chunks together. */
  readonly termTotal: number
}

export interface LexicalMatches {
  /** Chunks that have a term of the query, the best first, with a score in 0..1. */
  readonly ranked: ReadonlyArray<{ readonly chunk: number; readonly score: number }>
  /** The score of any chunk; 0 for one that has no term of the query. */
  readonly scoreOf: (chunk: number) => number
  /** Whether some chunk has each term of the query. */
  readonly knowsAllTerms: boolean
}

/**
 * Scores chunks by BM25, divided by what a chunk would score that is full of the query's known terms: the sum of their
 * idf x (k1 + 1). Scores of different queries and collections are thus on one scale.
 */
export const bm25 = (
  query: TermVector,
  statistics: Bm25Statistics,
  postings: ReadonlyArray<PostingsBlock>
): LexicalMatches => {
  const documentFrequencies = new Map<number, number>()
  for (const { term, entries } of postings) {
    documentFrequencies.set(term, (documentFrequencies.get(term) ?? 0) + entries.length)
  }
  const weights = new Map<number, number>()
  for (const [index, term] of query.hashes.entries()) {
    const documentFrequency = documentFrequencies.get(term)
    if (documentFrequency === undefined) continue
    const idf = Math.log(1 + (statistics.chunkCount - documentFrequency + 0.5) / (documentFrequency + 0.5))
    weights.set(term, query.frequencies[index]! * idf)
  }
  const bound = weights.values().reduce((sum, weight) => sum + weight * (K1 + 1), 0)
  const averageLength = Math.max(1, statistics.termTotal / statistics.chunkCount)

  const blocks = new Map<number, Float64Array>()
  for (const { term, block, entries } of postings) {
    const scores = blocks.get(block) ?? new Float64Array(BLOCK_SIZE)
    blocks.set(block, scores)
    const weight = weights.get(term)! / bound
    for (const entry of entries) {
      const frequency = frequencyOf(entry)
      const saturation = frequency + K1 * (1 - B + (B * lengthOf(entry)) / averageLength)
      scores[positionOf(entry)]! += (weight * frequency * (K1 + 1)) / saturation
    }
  }
  return {
    ranked: rank(blocks),
    scoreOf: (chunk) => blocks.get(Math.floor(chunk / BLOCK_SIZE))?.[chunk % BLOCK_SIZE] ?? 0,
    knowsAllTerms: weights.size === query.hashes.length
  }
}

const rank = (blocks: ReadonlyMap<number, Float64Array>): LexicalMatches["ranked"] => {
  const ranked: Array<{ readonly chunk: number; readonly score: number }> = []
  for (const [block, scores] of blocks) {
    for (const [position, score] of scores.entries()) {
      if (score > 0) ranked.push({ chunk: block * BLOCK_SIZE + position, score })
    }
  }
  return ranked.sort((a, b) => b.score - a.score || a.chunk - b.chunk)
}
