import { EnvelopArmorPlugin } from "@escape.tech/graphql-armor"
import { type DocumentNode, GraphQLError, Lexer, Source, TokenKind } from "graphql"
import { createLRUCache, type Plugin } from "graphql-yoga"

/**
 * Bounds of a GraphQL document, checked before it runs. Every operation is limited and charged on its own; these keep
 * reading and checking a document cheap. The deepest useful query of the schema has 4 levels, its largest operation
 * costs 27; connections will add levels.
 */
export const limits = {
  maxTokens: { n: 2000 },
  maxDepth: { n: 10 },
  maxAliases: { n: 50 },
  maxDirectives: { n: 50 },
  costLimit: { maxCost: 5000 },
  // Whoever may ask at all may read the whole schema.
  blockFieldSuggestion: { enabled: false }
} as const

/** Brackets within brackets. A JSON value nests 32 levels at most, and the parser's stack ends at some thousand. */
const MAX_NESTING = 64

const opening: ReadonlySet<TokenKind> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L])
const closing: ReadonlySet<TokenKind> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R])

/** Reads tokens, without recursion, until it knows that the parser may go on. */
const checkNesting = (document: string): void => {
  const lexer = new Lexer(new Source(document))
  let nesting = 0
  for (let read = 0; read < limits.maxTokens.n; read++) {
    const { kind } = lexer.advance()
    if (kind === TokenKind.EOF) return
    if (opening.has(kind)) nesting += 1
    if (closing.has(kind)) nesting -= 1
    if (nesting > MAX_NESTING) throw new GraphQLError(`The document nests more than ${MAX_NESTING} levels deep.`)
  }
}

const useNestingLimit = (): Plugin => ({
  onParse({ parseFn, setParseFn }) {
    setParseFn((source: string, options) => {
      checkNesting(source)
      return parseFn(source, options)
    })
  }
})

/** The limits as plugins of Yoga, in the order in which they must stand. */
export const useLimits = () => [EnvelopArmorPlugin(limits), useNestingLimit()]

const CACHED_DOCUMENTS = 512
const MAX_CACHED_LENGTH = 8192

/** Remembers small documents only: a large one holds its input inline, comes once, and would fill the memory. */
const smallDocumentCache = <Value extends object>() => {
  const cache = createLRUCache<Value>({ max: CACHED_DOCUMENTS })
  return {
    get: (document: string): Value | undefined => cache.get(document),
    set: (document: string, value: Value): void => {
      if (document.length <= MAX_CACHED_LENGTH) cache.set(document, value)
    }
  }
}

/** What is remembered of documents between requests. */
export const documentCaches = () => ({
  documentCache: smallDocumentCache<DocumentNode>(),
  errorCache: smallDocumentCache<object>()
})
