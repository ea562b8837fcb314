import { stemmer } from "stemmer"
import { STOP_WORDS } from "./StopWords.ts"

/** Characters of scripts that are written without spaces between words. */
const UNSPACED =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}"

const unspacedRun = new RegExp(`^[${UNSPACED}]`, "v")

/** A run of an unspaced script, or a word; what is longer than 64 characters (a hash, base64) falls into pieces. */
const tokenPattern = new RegExp(
  `[${UNSPACED}]+|[[\\p{L}\\p{N}]--[${UNSPACED}]][[\\p{L}\\p{N}\\p{M}]--[${UNSPACED}]]{0,63}`,
  "gv"
)

/** What an apostrophe adds to an English word: `dog's`, `they're`, `don't`. */
const clitic = /['’](?:s|t|d|m|ll|re|ve)(?![\p{L}\p{N}])/gu

const notAscii = /[^\p{ASCII}]/u
const asciiWord = /^[a-z]+$/

/** Folds case, compatibility forms and Latin, Greek and Cyrillic accents: `Ｃafé` and `cafe` become one. */
const fold = (text: string): string =>
  notAscii.test(text)
    ? text
        .normalize("NFKD")
        .toLowerCase()
        .replace(/[\u0300-\u036f]/g, "")
        .normalize("NFC")
    : text.toLowerCase()

const bigrams = (run: string): Array<string> => {
  const characters = Array.from(run)
  return characters.length === 1
    ? characters
    : characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

/** Words of `text` in order, folded; of unspaced scripts (Chinese, Japanese, Korean, Thai ...) overlapping pairs of characters. */
export const words = (text: string): Array<string> => {
  const folded = fold(text).replace(clitic, "")
  return (folded.match(tokenPattern) ?? []).flatMap((token) => (unspacedRun.test(token) ? bigrams(token) : token))
}

/** The Porter stem of an English-looking word; any other word as it is. */
export const stem = (word: string): string => (asciiWord.test(word) ? stemmer(word) : word)

/**
 * Search terms of `text` in order, repeated as often as they occur: words without English stop words, as Porter stems.
 * Index and query must both use it, and a change to it asks for new indexes.
 */
export const analyze = (text: string): Array<string> =>
  words(text)
    .filter((word) => !STOP_WORDS.has(word))
    .map(stem)
