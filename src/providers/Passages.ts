/** Finds context and question in a prompt by its marks, without understanding either. Every pattern takes linear time. */

export interface Sentence {
  readonly text: string
  /** Number of the passage that it was taken from, where passages are numbered. */
  readonly passage?: number
}

export interface Parts {
  readonly question: string
  /** Empty where the prompt carries no context. */
  readonly sentences: ReadonlyArray<Sentence>
}

const abbreviation = /(?:\b\p{Lu}|\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|Fig|No|cf|al|approx|e\.g|i\.e))\.$/u
const sentenceEnd = /(?<=[.!?]["'”’)\]]?)\s+|(?<=[。！？])/u

/** What is longer is no sentence, but a table or code: it falls into pieces, at spaces where there are some. */
const piecePattern = /.{1,1000}(?=\s|$)|\S{1,1000}/gs

/** Sentences of a text; a line break ends one, too. */
export const toSentences = (text: string): Array<string> => {
  const sentences: Array<string> = []
  for (const line of text.split("\n")) {
    let isOpen = false
    for (const piece of line.split(sentenceEnd).flatMap((part) => part.match(piecePattern) ?? [])) {
      const trimmed = piece.trim()
      if (trimmed === "") continue
      sentences.push(isOpen ? `${sentences.pop()} ${trimmed}` : trimmed)
      isOpen = abbreviation.test(trimmed)
    }
  }
  return sentences
}

const contextLabel = /^[ \t]*(?:context|passages|sources|documents?|text|article)[ \t]*:/im
const questionLabel = /^[ \t]*(?:question|query|q|task)[ \t]*:/im
const passageStart = /^[ \t]*\[(\d{1,4})\]/gm

/** Paragraphs are set apart by one empty line. */
const tidy = (text: string): string =>
  text
    .replace(/\r\n?/g, "\n")
    .replace(/\n[ \t]+(?=\n)/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim()

const isNumbered = (text: string): boolean => text.search(passageStart) !== -1

interface Split {
  readonly question: string
  readonly context: string
}

/** `Question: ...`, up to the context, the passages or the end of its paragraph. */
const labelledQuestion = (prompt: string): Split | undefined => {
  const label = questionLabel.exec(prompt)
  if (label === null) return undefined
  const rest = prompt.slice(label.index + label[0].length)
  const ends = [rest.indexOf("\n\n"), rest.search(contextLabel), rest.search(passageStart)]
  const end = Math.min(rest.length, ...ends.filter((index) => index > 0))
  return { question: rest.slice(0, end).trim(), context: `${prompt.slice(0, label.index)}\n\n${rest.slice(end)}` }
}

/** What precedes the marked context, and a last paragraph of its own. */
const aroundContext = (prompt: string): Split | undefined => {
  const start = [prompt.search(contextLabel), prompt.search(passageStart)].filter((index) => index >= 0)
  if (start.length === 0) return undefined
  const before = prompt.slice(0, Math.min(...start))
  const marked = prompt.slice(before.length)
  const lastBreak = marked.lastIndexOf("\n\n")
  const tail = lastBreak === -1 ? "" : marked.slice(lastBreak).trim()
  const hasTail = tail !== "" && !isNumbered(tail) && (before.trim() === "" || /[?？]$/.test(tail))
  return hasTail
    ? { question: `${before}\n${tail}`.trim(), context: marked.slice(0, lastBreak) }
    : { question: before.trim(), context: marked }
}

const aboutText = /[?？:]$|\b(?:summari[sz]e|summary|tl;?dr|key points|following|above|below)\b/i
const MAX_QUESTION_LENGTH = 500
/** What is shorter has nothing to quote, but is itself the question. */
const MIN_UNMARKED_LENGTH = 400

/** A long text without marks, with a question or a task about it as its last or first paragraph. */
const besideText = (prompt: string): Split | undefined => {
  const paragraphs = prompt.split("\n\n")
  const isQuestion = (text: string) => text.length <= MAX_QUESTION_LENGTH && aboutText.test(text)
  const [first, last] = [paragraphs[0]!, paragraphs.at(-1)!]
  const question = [last, first].find(isQuestion)
  if (question === undefined || prompt.length - question.length < MIN_UNMARKED_LENGTH) return undefined
  const others = question === last ? paragraphs.slice(0, -1) : paragraphs.slice(1)
  return { question, context: others.join("\n\n") }
}

const numberedSentences = (context: string): Array<Sentence> => {
  const starts = Array.from(context.matchAll(passageStart))
  return starts.flatMap((start, index) => {
    const text = context.slice(start.index + start[0].length, starts[index + 1]?.index)
    return toSentences(text).map((sentence) => ({ text: sentence, passage: Number(start[1]) }))
  })
}

const isMarked = (text: string): boolean => contextLabel.test(text) || isNumbered(text)

/** Reads a prompt, or a question whose context stands in the system prompt. */
export const readParts = (prompt: string, system: string): Parts => {
  const [asked, given] = [tidy(prompt), tidy(system)]
  const split = isMarked(asked)
    ? (labelledQuestion(asked) ?? aroundContext(asked))
    : isMarked(given)
      ? { question: asked, context: aroundContext(given)?.context ?? "" }
      : besideText(asked)
  if (split === undefined) return { question: asked, sentences: [] }
  const { context, question } = split
  const sentences = isNumbered(context)
    ? numberedSentences(context)
    : toSentences(context.replace(contextLabel, "")).map((text) => ({ text }))
  return { question, sentences }
}
