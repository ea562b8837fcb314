/** How the two scores of a chunk become one; the weights sum to 1. */
export interface Fusion {
  /** Weight of the cosine of query and chunk, which counts as 0 when negative. */
  readonly dense: number
  /** Weight of the BM25 score. */
  readonly lexical: number
  /**
   * When vectors may bring in chunks by themselves: `always`, or only `whenNeeded`, that is when few chunks have the
   * query's terms or none has one of them. For vectors that know no more than words do, the scan costs more than it finds.
   */
  readonly scan: "always" | "whenNeeded"
}

/** A chunk that may be a result. */
export interface Candidate {
  readonly chunk: number
  readonly document: number
  /** Cosine of query and chunk; NaN when one of them is a zero vector. */
  readonly similarity: number
}

export interface Ranked extends Candidate {
  /** 0..1 */
  readonly score: number
}

export interface RankingOptions {
  readonly lexicalScoreOf: (chunk: number) => number
  readonly fusion: Fusion
  readonly unit: "document" | "chunk"
  readonly topK: number
  readonly minScore: number
}

export interface Ranking {
  /** Best first: `topK` of them, and further ones that tie with the last, so that the caller can order ties by id. */
  readonly best: ReadonlyArray<Ranked>
  /** Documents or chunks among the candidates, whatever their score. */
  readonly total: number
}

/** Fuses the scores of candidates and keeps the best, one per document if that is the unit. */
export const rankCandidates = (candidates: ReadonlyArray<Candidate>, options: RankingOptions): Ranking => {
  const { dense, lexical } = options.fusion
  const ranked = candidates
    .map((candidate) => {
      const cosine = Math.min(1, Math.max(0, candidate.similarity || 0))
      return { ...candidate, score: Math.min(1, lexical * options.lexicalScoreOf(candidate.chunk) + dense * cosine) }
    })
    .sort((a, b) => b.score - a.score || a.chunk - b.chunk)

  const seen = new Set<number>()
  const units = ranked.filter((each) => {
    const key = options.unit === "document" ? each.document : each.chunk
    return seen.size < seen.add(key).size
  })
  const last = units[Math.min(options.topK, units.length) - 1]
  const threshold = Math.max(options.minScore, last?.score ?? 0)
  return { best: units.filter((each) => each.score >= threshold), total: units.length }
}

/** The order of results: best first, ties by document id in the order of code points, then as in the document. */
export const compareHits = (
  a: { readonly score: number; readonly documentId: string; readonly chunk: number },
  b: { readonly score: number; readonly documentId: string; readonly chunk: number }
): number =>
  b.score - a.score || Buffer.compare(Buffer.from(a.documentId), Buffer.from(b.documentId)) || a.chunk - b.chunk
