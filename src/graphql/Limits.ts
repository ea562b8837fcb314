import { EnvelopArmorPlugin } from "@escape.tech/graphql-armor"
import type { DocumentNode } from "graphql"
import { createLRUCache } from "graphql-yoga"

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

export const useLimits = () => EnvelopArmorPlugin(limits)

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
