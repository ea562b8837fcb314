import { Effect } from "effect"
import { analyze } from "../domain/Analyzer.ts"
import { countTokens } from "../domain/Tokens.ts"
import type { GenerateCall, Generation } from "./LanguageModels.ts"
import { countedUsage } from "./MeasuredUsage.ts"
import { readParts, type Sentence } from "./Passages.ts"
import { eachWithYield } from "./Slices.ts"
import type { Generate } from "./Vendor.ts"

/**
 * Answers with sentences of the context that a prompt carries, ranked by what they share with the question, and never
 * with words of its own beyond saying that it cannot.
 */

const NO_MODEL =
  "No language model is configured, so this can only be answered from a context given in the prompt: set OPENAI_API_KEY or ANTHROPIC_API_KEY and restart to get answers from a model."
const NO_MATCH = "The given context has no sentence that matches the question."

const MAX_SENTENCES = 3
/** Sentences that score less beside the best one are left out. */
const MIN_SHARE_OF_BEST = 0.4
const SENTENCES_PER_SLICE = 64

interface Scored {
  readonly sentence: Sentence
  readonly terms: ReadonlyArray<string>
}

const analyzeSentences = Effect.fnUntraced(function* (sentences: ReadonlyArray<Sentence>) {
  const groups = Array.from({ length: Math.ceil(sentences.length / SENTENCES_PER_SLICE) }, (_, group) =>
    sentences.slice(group * SENTENCES_PER_SLICE, (group + 1) * SENTENCES_PER_SLICE)
  )
  const analyzed = yield* eachWithYield(groups, (group) =>
    group.map((sentence): Scored => ({ sentence, terms: analyze(sentence.text) }))
  )
  return analyzed.flat()
})

const isSummaryAsked = (question: string): boolean => /\b(?:summari[sz]e|summary|tl;?dr|key points)\b/i.test(question)

/** How many sentences have each term. */
const countSentences = (scored: ReadonlyArray<Scored>): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const { terms } of scored) for (const term of new Set(terms)) counts.set(term, (counts.get(term) ?? 0) + 1)
  return counts
}

/**
 * The best sentences first: for a question those with its rarest words, by BM25 without regard to repetition; for a
 * summary those with the text's most frequent words.
 */
const rank = (scored: ReadonlyArray<Scored>, question: string): Array<Sentence> => {
  const counts = countSentences(scored)
  const asked = new Set(analyze(question))
  const isSummary = isSummaryAsked(question)
  const idf = (term: string) => Math.log(1 + scored.length / (counts.get(term) ?? 1))
  const meanLength = scored.reduce((sum, { terms }) => sum + terms.length, 0) / scored.length || 1
  const score = ({ terms }: Scored): number => {
    const own = Array.from(new Set(terms))
    const weight = isSummary
      ? own.reduce((sum, term) => sum + (counts.get(term)! - 1), 0)
      : own.reduce((sum, term) => sum + (asked.has(term) ? idf(term) : 0), 0)
    return weight / (0.25 + (0.75 * terms.length) / meanLength)
  }
  const ranked = scored
    .map((item) => ({ sentence: item.sentence, score: score(item) }))
    .sort((a, b) => b.score - a.score)
  const best = ranked[0]?.score ?? 0
  const isGood = (item: { readonly score: number }) => item.score > 0 && item.score >= best * MIN_SHARE_OF_BEST
  const unlike = new Map(ranked.filter(isGood).map((item) => [item.sentence.text, item.sentence]))
  return Array.from(unlike.values()).slice(0, MAX_SENTENCES)
}

const cite = ({ passage, text }: Sentence): string => (passage === undefined ? text : `${text} [${passage}]`)

/** The answer from its start, as much of it as fits. */
const cutToTokens = (text: string, maxTokens: number): string => {
  let [end, tokens] = [0, 0]
  for (const piece of text.match(/\s{0,8}\S{1,16}|\s{1,16}/g) ?? []) {
    tokens += countTokens(piece)
    if (tokens > maxTokens) break
    end += piece.length
  }
  return text.slice(0, end)
}

const answer = Effect.fnUntraced(function* ({ prompt, system = "" }: GenerateCall) {
  const { question, sentences } = readParts(prompt, system)
  if (sentences.length === 0) return NO_MODEL
  const chosen = rank(yield* analyzeSentences(sentences), question)
  return chosen.length === 0 ? NO_MATCH : chosen.map(cite).join(" ")
})

/** The vendor `local`'s language model: in this process, with no network and no state. */
export const extractive: Generate = Effect.fnUntraced(function* (model, call) {
  const whole = yield* answer(call)
  const isCut = countTokens(whole) > call.maxTokens
  const text = isCut ? cutToTokens(whole, call.maxTokens) : whole
  return {
    text,
    finishReason: isCut ? "length" : "stop",
    usage: yield* countedUsage(call, text),
    warnings: call.temperature === undefined ? [] : [`${model} has no temperature: options.temperature was left out.`]
  } satisfies Generation
})
