/**
 * What each operation costs, in integer micro-credits (1 credit = 1,000,000 micro-credits).
 *
 * Source: section 8.2 of the `/v1` specification ("Credit consumption").
 */

export const MICRO_PER_CREDIT = 1_000_000

/** 0.5 credits per 1,000 tokens, prompt and completion alike. */
const MICRO_PER_TOKEN = 500

export const EMBED_MICRO = 500_000
export const SEARCH_MICRO = 500_000
export const INDEX_MICRO_PER_DOCUMENT = 500_000

/** The price of `tokens` tokens of generation, in micro-credits. */
export const generateMicro = (tokens: number): number => tokens * MICRO_PER_TOKEN

/** The price of indexing `documents` documents, in micro-credits. */
export const indexMicro = (documents: number): number => documents * INDEX_MICRO_PER_DOCUMENT

/** Micro-credits as the number of credits that callers see, for example `500_000` as `0.5`. */
export const toCredits = (micro: number): number => micro / MICRO_PER_CREDIT

/** Credits from configuration as micro-credits, rounded to the nearest. */
export const fromCredits = (credits: number): number => Math.round(credits * MICRO_PER_CREDIT)
