import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import type { Document } from "../../src/domain/Collection.ts"
import type { EmbeddingModelSelector } from "../../src/domain/Model.ts"
import { Indexing } from "../../src/knowledge/Indexing.ts"
import { Retrieval } from "../../src/knowledge/Retrieval.ts"
import { CollectionNotFound, EmbeddingMismatch, VectorStore } from "../../src/store/VectorStore.ts"
import { embeddingsFailure, recordingEmbeddings } from "../support/RecordingEmbeddings.ts"
import { acme } from "../support/VectorStores.ts"

const Knowledge = Layer.mergeAll(Indexing.layer, Retrieval.layer)

const index = Effect.fnUntraced(function* (
  collection: string,
  documents: ReadonlyArray<Document>,
  model?: EmbeddingModelSelector
) {
  return yield* (yield* Indexing).index(acme, { collection, documents, model })
})

const search = Effect.fnUntraced(function* (collection: string, query: string) {
  return yield* (yield* Retrieval).search(acme, { collection, query, topK: 10, minScore: 0 })
})

/** Runs against a fresh store in memory and an embedder that writes down its calls. */
const withRecorder = <A, E>(
  use: (recorder: ReturnType<typeof recordingEmbeddings>) => Effect.Effect<A, E, Indexing | Retrieval | VectorStore>,
  options: { readonly failsFrom?: number } = {}
) => {
  const recorder = recordingEmbeddings(options)
  return use(recorder).pipe(
    Effect.provide(Knowledge.pipe(Layer.provide(recorder.layer), Layer.provideMerge(VectorStore.layerMemory)))
  )
}

const long = Array.from({ length: 400 }, (_, number) => `Fact ${number} is about badgers.`).join(" ")

describe("Indexing", () => {
  it.effect("embeds what changed and nothing else", () =>
    withRecorder(({ calls }) =>
      Effect.gen(function* () {
        const first = [
          { id: "a", content: "foxes dig", title: "A" },
          { id: "b", content: "hounds run", metadata: { year: 2020 } }
        ]
        assert.deepStrictEqual(yield* index("c", first), { chunksCreated: 2 })
        assert.deepStrictEqual(yield* index("c", first), { chunksCreated: 0 })
        assert.lengthOf(calls, 1)

        const changes: ReadonlyArray<Document> = [
          { id: "a", content: "foxes sleep", title: "A" },
          { id: "a", content: "foxes sleep", title: "B" },
          { id: "a", content: "foxes sleep", title: "B", metadata: {} }
        ]
        for (const [place, changed] of changes.entries()) {
          assert.deepStrictEqual(yield* index("c", [changed, first[1]!]), { chunksCreated: 1 })
          assert.lengthOf(calls, 2 + place)
        }
        assert.deepStrictEqual(calls.at(-1), ["B\nfoxes sleep"])
      })
    )
  )

  it.effect("embeds many chunks in several calls, a few at once, each chunk to its document", () =>
    withRecorder(({ calls, mostRunning }) =>
      Effect.gen(function* () {
        const documents = Array.from({ length: 100 }, (_, number) => ({
          id: `d${number}`,
          content: `${long} Only word${number} here.`
        }))
        const { chunksCreated } = yield* index("many", documents)
        assert.strictEqual(chunksCreated, calls.flat().length)
        assert.isAbove(chunksCreated, 900)
        assert.isTrue(calls.every((texts) => texts.length <= 96))
        assert.isAbove(mostRunning(), 1)
        assert.isAtMost(mostRunning(), 4)
        for (const number of [0, 57, 99]) {
          const [best] = yield* search("many", `word${number}`)
          assert.strictEqual(best!.id, `d${number}`)
          assert.include(best!.content, `word${number} here`)
        }
      })
    )
  )

  it.effect("leaves nothing behind when the vendor fails half-way", () =>
    withRecorder(
      () =>
        Effect.gen(function* () {
          const documents = Array.from({ length: 40 }, (_, number) => ({ id: `d${number}`, content: long }))
          assert.deepStrictEqual(yield* Effect.flip(index("failed", documents)), embeddingsFailure)
          assert.instanceOf(yield* Effect.flip(search("failed", "badgers")), CollectionNotFound)
        }),
      { failsFrom: 3 }
    )
  )

  it.effect("keeps the documents there are when the vendor fails to embed their new versions", () =>
    withRecorder(
      () =>
        Effect.gen(function* () {
          const store = yield* VectorStore
          yield* index("kept", [{ id: "a", content: "before" }])
          yield* Effect.flip(
            index("kept", [
              { id: "a", content: "after" },
              { id: "b", content: "new" }
            ])
          )
          const { contentHashes } = Option.getOrThrow(yield* store.inspect(acme, "kept", ["a", "b"]))
          assert.sameMembers([...contentHashes.keys()], ["a"])
          assert.deepStrictEqual(yield* index("kept", [{ id: "a", content: "before" }]), { chunksCreated: 0 })
        }),
      { failsFrom: 2 }
    )
  )

  it.effect("binds a collection to its first model, and uses that when none is named", () =>
    withRecorder(({ calls }) =>
      Effect.gen(function* () {
        yield* index("bound", [{ id: "a", content: "first" }], { provider: "maker", name: "m1", dimensions: 8 })
        const error = yield* Effect.flip(index("bound", [{ id: "b", content: "second" }], { name: "m2" }))
        assert.deepStrictEqual(
          error,
          new EmbeddingMismatch({
            collection: "bound",
            expected: { provider: "maker", model: "m1", dimensions: 8 },
            actual: { provider: "test", model: "m2", dimensions: 16 }
          })
        )
        assert.lengthOf(calls, 1)
        assert.deepStrictEqual(yield* index("bound", [{ id: "b", content: "second" }]), { chunksCreated: 1 })
        assert.lengthOf(yield* search("bound", "second"), 2)
      })
    )
  )
})
