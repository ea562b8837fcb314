import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import fc from "fast-check"
import { analyze } from "../../src/domain/Analyzer.ts"
import type { Document } from "../../src/domain/Collection.ts"
import { chunk } from "../../src/knowledge/Chunker.ts"
import { Indexing } from "../../src/knowledge/Indexing.ts"
import { Retrieval } from "../../src/knowledge/Retrieval.ts"
import { CollectionNotFound } from "../../src/store/VectorStore.ts"
import { recordingEmbeddings } from "../support/RecordingEmbeddings.ts"
import { acme, describeVectorStores, other } from "../support/VectorStores.ts"

const Knowledge = Layer.mergeAll(Indexing.layer, Retrieval.layer)

const index = Effect.fnUntraced(function* (
  collection: string,
  documents: ReadonlyArray<Document>,
  organization = acme
) {
  yield* (yield* Indexing).index(organization, { collection, documents, model: undefined })
})

const search = Effect.fnUntraced(function* (
  collection: string,
  query: string,
  { organization = acme, ...options }: { organization?: typeof acme; topK?: number; minScore?: number } = {}
) {
  return yield* (yield* Retrieval).search(organization, { collection, query, topK: 10, minScore: 0, ...options })
})

const animals: ReadonlyArray<Document> = [
  { id: "fox", content: "The red fox hunts at night.", title: "Foxes", metadata: { title: "ignored", legs: 4 } },
  { id: "owl", content: "An owl hunts mice at night.", metadata: { title: "Owls" } },
  { id: "cow", content: "Cows eat grass.", metadata: { title: 7, legs: 4 } },
  { id: "bee", content: "Bees make honey." }
]

/** Any text, with NUL, lone surrogates and long runs. */
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", minLength: 1, maxLength: 60 }),
      fc.constantFrom(
        "\0",
        "\ud800",
        " ",
        "\n\n# x\n",
        "<|endoftext|>",
        "漢字".repeat(400),
        "z".repeat(5000),
        "w ".repeat(900)
      )
    ),
    { minLength: 1, maxLength: 6 }
  )
  .map((parts) => parts.join(""))

const anyId = fc
  .string({ unit: "binary", minLength: 1, maxLength: 40 })
  .filter((id) => id.isWellFormed() && !id.includes("\0"))

const anyDocuments = fc.uniqueArray(
  fc.record(
    {
      id: anyId,
      content: anyText,
      title: anyText.map((text) => text.slice(0, 4096).replaceAll("\0", "")),
      metadata: fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 3 }))
    },
    { requiredKeys: ["id", "content"] }
  ),
  { selector: ({ id }) => id, minLength: 1, maxLength: 5 }
)

describeVectorStores("Retrieval", (store) => {
  layer(Knowledge.pipe(Layer.provide(recordingEmbeddings().layer), Layer.provideMerge(store)))((it) => {
    it.effect("answers documents with their text, metadata and title", () =>
      Effect.gen(function* () {
        yield* index("animals", animals)
        const results = yield* search("animals", "hunting foxes")
        assert.strictEqual(results[0]!.content, "The red fox hunts at night.")
        const metadata = Object.fromEntries(results.map(({ id, metadata }) => [id, metadata]))
        assert.deepStrictEqual(metadata, {
          fox: { title: "Foxes", legs: 4 },
          owl: { title: "Owls" },
          cow: { title: "", legs: 4 },
          bee: { title: "" }
        })
      })
    )

    it.effect("orders by a score between 0 and 1, which the minimum tests", () =>
      Effect.gen(function* () {
        yield* index("scores", animals)
        for (const query of ["hunts at night", "honey", "the of and", "unheard", "night night owl", "?!"]) {
          const results = yield* search("scores", query)
          const scores = results.map(({ score }) => score)
          assert.deepStrictEqual(
            scores,
            [...scores].sort((a, b) => b - a)
          )
          assert.isTrue(scores.every((score) => score >= 0 && score <= 1))
          const minScore = scores[1]!
          const kept = yield* search("scores", query, { minScore })
          assert.deepStrictEqual(
            kept,
            results.filter(({ score }) => score >= minScore)
          )
          assert.deepStrictEqual(yield* search("scores", query, { topK: 2 }), results.slice(0, 2))
        }
      })
    )

    it.effect("finds a document by its title and by the headings above its text", () =>
      Effect.gen(function* () {
        const body = "plain words without a subject. ".repeat(20)
        yield* index("titles", [
          { id: "title", content: body, title: "Photosynthesis" },
          { id: "heading", content: `# Respiration\n${body}\n## Details\n${body}` },
          { id: "none", content: body }
        ])
        assert.strictEqual((yield* search("titles", "photosynthesis"))[0]!.id, "title")
        assert.strictEqual((yield* search("titles", "respiration details"))[0]!.content.slice(0, 10), "## Details")
      })
    )

    it.effect("does not find what a replaced document used to say", () =>
      Effect.gen(function* () {
        yield* index("changing", [
          { id: "a", content: "zebra zebra" },
          { id: "b", content: "horse" }
        ])
        yield* index("changing", [{ id: "a", content: "giraffe" }])
        const results = yield* search("changing", "zebra")
        assert.sameMembers(
          results.map(({ content }) => content),
          ["giraffe", "horse"]
        )
        assert.isTrue(results.every(({ score }) => score <= 0.2))
      })
    )

    it.effect("shows no organization what another has under the same name", () =>
      Effect.gen(function* () {
        yield* index("private", [{ id: "a", content: "secret plan" }])
        const error = yield* Effect.flip(search("private", "secret", { organization: other }))
        assert.instanceOf(error, CollectionNotFound)
        yield* index("private", [{ id: "a", content: "public notice" }], other)
        const [ours, theirs] = [
          yield* search("private", "secret"),
          yield* search("private", "secret", { organization: other })
        ]
        assert.deepStrictEqual(
          [ours, theirs].map((results) => results.map(({ content }) => content)),
          [["secret plan"], ["public notice"]]
        )
      })
    )

    it.effect("leaves one version when requests index the same ids at once", () =>
      Effect.gen(function* () {
        const version = (name: string) =>
          ["x", "y", "z"].map((id) => ({ id, content: `${name} version of ${id}. `.repeat(100) }))
        yield* Effect.forEach(["red", "green", "blue", "red"], (name) => index("raced", version(name)), {
          concurrency: "unbounded"
        })
        const results = yield* search("raced", "version")
        assert.lengthOf(results, 3)
        assert.strictEqual(new Set(results.map(({ content }) => content.split(" ")[0])).size, 1)
      })
    )

    let fuzzed = 0
    it.effect("takes documents of any Unicode and finds them by their own text", () =>
      Effect.gen(function* () {
        const services = yield* Effect.context<Indexing | Retrieval>()
        const check = Effect.fnUntraced(function* (documents: ReadonlyArray<Document>) {
          const collection = `fuzz${fuzzed++}`
          yield* index(collection, documents)
          for (const document of documents) {
            const [first] = chunk(document)
            const found = (yield* search(collection, first!.content)).find(({ id }) => id === document.id)
            assert.isDefined(found)
            if (analyze(first!.content).length > 0) assert.isAbove(found!.score, 0)
            assert.hasAllKeys(found!.metadata, [...new Set([...Object.keys(document.metadata ?? {}), "title"])])
          }
        })
        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(anyDocuments, (documents) => Effect.runPromiseWith(services)(check(documents))),
            { numRuns: 30 }
          )
        )
      })
    )
  })
})
