import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import {
  CollectionNotFound,
  EmbeddingMismatch,
  type IndexedDocument,
  VectorStore
} from "../../src/store/VectorStore.ts"
import type { Fusion } from "../../src/store/vector/Ranking.ts"
import { termVector } from "../../src/store/vector/Terms.ts"
import { acme, describeVectorDatabases, describeVectorStores, other } from "../support/VectorStores.ts"

const space = { provider: "test", model: "axes", dimensions: 3 }
const both: Fusion = { dense: 0.5, lexical: 0.5, scan: "always" }

/** A document of one chunk per text, whose terms are its words; its vector leans to the axis of its number. */
const document = (id: string, ...texts: ReadonlyArray<string>): IndexedDocument => ({
  id,
  title: `Title of ${id}`,
  metadata: JSON.parse('{"tags": ["a", {"nul": "\\u0000", "lone": "\\ud800"}], "__proto__": "own", "b": 1, "a": 2}'),
  contentHash: texts.join("|"),
  chunks: texts.map((content, index) => ({
    content,
    terms: termVector(content.split(" ")),
    embedding: [1, index, 0]
  }))
})

const put = Effect.fnUntraced(function* (collection: string, ...documents: ReadonlyArray<IndexedDocument>) {
  yield* (yield* VectorStore).replace(acme, { collection, space, documents })
})

const find = Effect.fnUntraced(function* (
  collection: string,
  query: string,
  options: {
    readonly organization?: typeof acme
    readonly embedding?: ReadonlyArray<number>
    readonly fusion?: Fusion
    readonly unit?: "document" | "chunk"
    readonly topK?: number
    readonly minScore?: number
  } = {}
) {
  const store = yield* VectorStore
  const { embedding = [1, 0, 0], fusion = both, organization = acme, ...rest } = options
  return yield* store.search(organization, {
    collection,
    terms: termVector(query.split(" ")),
    embed: () => Effect.succeed({ embedding, fusion }),
    unit: "document",
    topK: 10,
    minScore: 0,
    ...rest
  })
})

const idsOf = (hits: ReadonlyArray<{ readonly documentId: string }>) => hits.map(({ documentId }) => documentId)

describeVectorStores("VectorStore", (store) => {
  layer(store)((it) => {
    it.effect("gives back what was stored, best first, with scores between 0 and 1", () =>
      Effect.gen(function* () {
        yield* put("stored", document("b", "red fish"), document("a", "blue fish"), document("c", "green bird"))
        const hits = yield* find("stored", "blue fish")
        assert.deepStrictEqual(idsOf(hits), ["a", "b", "c"])
        assert.isTrue(hits.every(({ score }) => score >= 0 && score <= 1))
        assert.deepInclude(hits[0], {
          documentId: "a",
          title: "Title of a",
          content: "blue fish",
          metadata: document("a").metadata
        })
      })
    )

    it.effect("scores by the weighted sum of BM25 over its bound and of the cosine", () =>
      Effect.gen(function* () {
        yield* put("scored", document("one", "wolf"), document("two", "wolf", "lynx"))
        // Chunks of average length 1 with term frequency 1: BM25 is idf, its bound 2.2 idf.
        const lexical = yield* find("scored", "lynx", { fusion: { dense: 0, lexical: 1, scan: "always" } })
        assert.closeTo(lexical[0]!.score, 1 / 2.2, 1e-6)
        const dense = yield* find("scored", "lynx", {
          fusion: { dense: 1, lexical: 0, scan: "always" },
          embedding: [1, 1, 0]
        })
        assert.closeTo(dense[0]!.score, 1, 1e-6)
        assert.closeTo(dense[1]!.score, Math.SQRT1_2, 1e-6)
        const opposite = yield* find("scored", "lynx", { embedding: [-1, 0, 0] })
        assert.closeTo(opposite[0]!.score, 0.5 / 2.2, 1e-6)
        assert.strictEqual(opposite[1]!.score, 0)
      })
    )

    it.effect("leaves out what scores below the minimum and what is beyond the number asked for", () =>
      Effect.gen(function* () {
        yield* put("cut", document("a", "owl"), document("b", "owl owl"), document("c", "cat"))
        assert.lengthOf(yield* find("cut", "owl", { topK: 1 }), 1)
        const good = yield* find("cut", "owl", { minScore: 0.6 })
        assert.sameMembers(idsOf(good), ["a", "b"])
      })
    )

    it.effect("orders ties by the document's id, also where they are cut off", () =>
      Effect.gen(function* () {
        yield* put("ties", ...["b", "é", "a", "𝒳", "\u{FFFD}"].map((id) => document(id, "same words")))
        assert.deepStrictEqual(idsOf(yield* find("ties", "words")), ["a", "b", "é", "\u{FFFD}", "𝒳"])
        assert.deepStrictEqual(idsOf(yield* find("ties", "words", { topK: 2 })), ["a", "b"])
      })
    )

    it.effect("shows a document once with its best chunk, or each chunk", () =>
      Effect.gen(function* () {
        yield* put("units", document("a", "oak leaf", "elm leaf", "oak oak"), document("b", "ash"))
        const documents = yield* find("units", "oak", { embedding: [0, 0, 1] })
        assert.deepStrictEqual(
          documents.map(({ content }) => content),
          ["oak oak", "ash"]
        )
        const chunks = yield* find("units", "oak", { unit: "chunk", topK: 2, embedding: [0, 0, 1] })
        assert.deepStrictEqual(
          chunks.map(({ content }) => content),
          ["oak oak", "oak leaf"]
        )
      })
    )

    it.effect("finds documents behind one that fills the first candidates with its chunks", () =>
      Effect.gen(function* () {
        const flood = Array.from({ length: 900 }, () => "plum")
        yield* put("flood", document("flood", ...flood), document("late", "plum and other words that make it longer"))
        const fusion: Fusion = { dense: 0.2, lexical: 0.8, scan: "whenNeeded" }
        assert.deepStrictEqual(idsOf(yield* find("flood", "plum", { fusion })), ["flood", "late"])
      })
    )

    it.effect("replaces a document by id, together with all its chunks", () =>
      Effect.gen(function* () {
        yield* put("replaced", document("a", "old text", "old rest"), document("b", "other"))
        yield* put("replaced", document("a", "new text"))
        const hits = yield* find("replaced", "old", { unit: "chunk" })
        assert.sameMembers(
          hits.map(({ content }) => content),
          ["new text", "other"]
        )
        const inspection = yield* (yield* VectorStore).inspect(acme, "replaced", ["a", "b", "missing"])
        const { contentHashes, space: held } = Option.getOrThrow(inspection)
        assert.strictEqual(contentHashes.get("a"), "new text")
        assert.isFalse(contentHashes.has("missing"))
        assert.deepStrictEqual(held, space)
      })
    )

    it.effect("does not know a collection before its first document", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(find("nowhere", "words"))
        assert.instanceOf(error, CollectionNotFound)
        assert.isTrue(Option.isNone(yield* (yield* VectorStore).inspect(acme, "nowhere", ["a"])))
      })
    )

    it.effect("refuses vectors of another space and leaves everything as it was", () =>
      Effect.gen(function* () {
        yield* put("bound", document("a", "first"))
        const actual = { ...space, dimensions: 4 }
        const error = yield* (yield* VectorStore)
          .replace(acme, { collection: "bound", space: actual, documents: [document("a", "second")] })
          .pipe(Effect.flip)
        assert.deepStrictEqual(error, new EmbeddingMismatch({ collection: "bound", expected: space, actual }))
        assert.strictEqual((yield* find("bound", "first"))[0]!.content, "first")
      })
    )

    it.effect("keeps organizations apart that use the same names and ids", () =>
      Effect.gen(function* () {
        const vectors = yield* VectorStore
        yield* put("shared", document("a", "ours"))
        assert.instanceOf(yield* Effect.flip(find("shared", "ours", { organization: other })), CollectionNotFound)
        assert.isTrue(Option.isNone(yield* vectors.inspect(other, "shared", ["a"])))
        yield* vectors.replace(other, { collection: "shared", space, documents: [document("a", "theirs")] })
        assert.strictEqual((yield* find("shared", "ours"))[0]!.content, "ours")
        assert.strictEqual((yield* find("shared", "ours", { organization: other }))[0]!.content, "theirs")
      })
    )

    it.effect("leaves one version of each document when several writers replace the same ids at once", () =>
      Effect.gen(function* () {
        const ids = Array.from({ length: 20 }, (_, index) => `id${index}`)
        const writer = (version: number) => {
          const order = version % 2 === 0 ? ids : ids.toReversed()
          return put("raced", ...order.map((id) => document(id, `v${version} ${id}`, `v${version} more`)))
        }
        yield* Effect.forEach([1, 2, 3, 4, 5, 6], writer, { concurrency: "unbounded" })
        const hits = yield* find("raced", "more", { unit: "chunk", topK: 100 })
        assert.lengthOf(hits, 40)
        assert.strictEqual(new Set(hits.map(({ content }) => content.split(" ")[0])).size, 1)
      })
    )

    it.effect("scores like a fresh collection after any number of replacements", () =>
      Effect.gen(function* () {
        const words = ["ant", "bee", "cow", "dog", "eel"]
        const text = (seed: number) =>
          Array.from({ length: 1 + (seed % 7) }, (_, index) => words[(seed * 31 + index * index) % words.length]).join(
            " "
          )
        const version = (round: number) =>
          Array.from({ length: 12 }, (_, index) => {
            const seed = round * 17 + index * (round + 3)
            return document(`d${index}`, text(seed), text(seed + 5))
          })
        for (let round = 0; round < 8; round++) yield* put("churned", ...version(round).slice(round % 5))
        yield* put("churned", ...version(8))
        yield* put("fresh", ...version(8))
        for (const word of [...words, "ant bee", "cow dog eel none"]) {
          const scores = (hits: Effect.Success<ReturnType<typeof find>>) =>
            hits.map(({ content, documentId, score }) => [documentId, content, score.toFixed(6)])
          assert.deepStrictEqual(scores(yield* find("churned", word)), scores(yield* find("fresh", word)))
        }
      })
    )

    it.effect("starts over when a document is replaced while it is being found", () =>
      Effect.gen(function* () {
        const vectors = yield* VectorStore
        yield* put("moving", document("a", "before"), document("b", "unmoved"))
        const hits = yield* vectors.search(acme, {
          collection: "moving",
          terms: termVector(["before", "after"]),
          embed: () => Effect.as(put("moving", document("a", "after")), { embedding: [1, 0, 0], fusion: both }),
          unit: "document",
          topK: 1,
          minScore: 0
        })
        assert.deepStrictEqual(
          hits.map(({ content }) => content),
          ["after"]
        )
      })
    )

    it.effect("takes documents without terms, without vectors' length and with odd ids", () =>
      Effect.gen(function* () {
        const blank = {
          ...document("'; -- \u{1F984} \n", " "),
          chunks: [{ content: " ", terms: termVector([]), embedding: [0, 0, 0] }]
        }
        yield* put("odd", blank, document('a\\"{}', "text"))
        assert.sameMembers(idsOf(yield* find("odd", "text")), ['a\\"{}', blank.id])
        assert.lengthOf(yield* find("odd", "", { embedding: [0, 0, 0] }), 2)
      })
    )
  })
})

describeVectorDatabases("VectorStore", (store) => {
  layer(store)((it) => {
    it.effect("writes nothing when one of the documents cannot be written", () =>
      Effect.gen(function* () {
        yield* put("whole", document("a", "kept"))
        const bad = document("bad", ...Array.from({ length: 600 }, () => "fine"), "not storable: \0")
        const exit = yield* Effect.exit(put("whole", document("a", "changed"), bad))
        assert.isTrue(Exit.hasDies(exit))
        assert.deepStrictEqual(
          (yield* find("whole", "kept", { unit: "chunk" })).map(({ content }) => content),
          ["kept"]
        )
      })
    )
  })
})
