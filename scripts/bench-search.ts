/**
 * Measures search on a folder with `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` in the format of BEIR: quality, and
 * the speed of indexing and search. Uses the local embedder, on an embedded database in a temporary folder, or on
 * `DATABASE_URL`, where it leaves an organization of its own behind.
 */
import { randomUUID } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Array, ConfigProvider, Console, Effect, Layer } from "effect"
import type { Document } from "../src/domain/Collection.ts"
import { KeyId, OrganizationId } from "../src/domain/Ids.ts"
import { Indexing } from "../src/knowledge/Indexing.ts"
import { Retrieval } from "../src/knowledge/Retrieval.ts"
import { Embeddings } from "../src/providers/Embeddings.ts"
import { Database } from "../src/store/Database.ts"
import { OrganizationStore } from "../src/store/OrganizationStore.ts"
import { VectorStore } from "../src/store/VectorStore.ts"

const DOCUMENTS_PER_REQUEST = 100
const RESULTS = 100
const COLLECTION = "bench"

const organization = OrganizationId.make(`bench-${randomUUID()}`)

/** Relevance by document id, of one query. */
type Judgements = ReadonlyMap<string, number>

interface Query {
  readonly text: string
  readonly judgements: Judgements
}

const readLines = (path: string): ReadonlyArray<string> =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")

interface Line {
  readonly _id: string
  readonly title?: string
  readonly text: string
}

const parseLine = (line: string): Line => JSON.parse(line)

const readDocuments = (folder: string): ReadonlyArray<Document> =>
  readLines(join(folder, "corpus.jsonl"))
    .map(parseLine)
    .map(({ _id, text, title }) => ({ id: _id, content: text === "" ? (title ?? " ") : text, title: title ?? "" }))

const readQueries = (folder: string): ReadonlyArray<Query> => {
  const judgements = new Map<string, Map<string, number>>()
  for (const line of readLines(join(folder, "qrels.tsv")).slice(1)) {
    const [query, document, relevance] = line.split("\t")
    const ofQuery = judgements.get(query!) ?? new Map<string, number>()
    judgements.set(query!, ofQuery.set(document!, Number(relevance)))
  }
  return readLines(join(folder, "queries.jsonl"))
    .map(parseLine)
    .flatMap(({ _id, text }) => (judgements.has(_id) ? [{ text, judgements: judgements.get(_id)! }] : []))
}

const discountedGain = (relevances: ReadonlyArray<number>): number =>
  relevances.reduce((sum, relevance, index) => sum + relevance / Math.log2(index + 2), 0)

/** Normalized discounted cumulative gain of the first ten results. */
const ndcg10 = (found: ReadonlyArray<string>, judgements: Judgements): number => {
  const ideal = Array.fromIterable(judgements.values()).sort((a, b) => b - a)
  const gains = found.map((id) => judgements.get(id) ?? 0)
  return discountedGain(gains.slice(0, 10)) / discountedGain(ideal.slice(0, 10))
}

const recall = (found: ReadonlyArray<string>, judgements: Judgements): number => {
  const relevant = Array.fromIterable(judgements).filter(([, relevance]) => relevance > 0)
  return relevant.filter(([id]) => found.includes(id)).length / relevant.length
}

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!

const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(0)} MB`

const indexAll = Effect.fnUntraced(function* (documents: ReadonlyArray<Document>) {
  const indexing = yield* Indexing
  const start = performance.now()
  let chunks = 0
  for (const batch of Array.chunksOf(documents, DOCUMENTS_PER_REQUEST)) {
    const { chunksCreated } = yield* indexing.index(organization, {
      collection: COLLECTION,
      documents: batch,
      model: { provider: "local" }
    })
    chunks += chunksCreated
  }
  const seconds = (performance.now() - start) / 1000
  yield* Console.log(
    `indexed ${documents.length} documents (${chunks} chunks) in ${seconds.toFixed(1)} s: ${(documents.length / seconds).toFixed(0)} documents/s`
  )
})

const searchAll = Effect.fnUntraced(function* (queries: ReadonlyArray<Query>, topK: number) {
  const retrieval = yield* Retrieval
  const milliseconds: Array<number> = []
  const found: Array<ReadonlyArray<string>> = []
  for (const { text } of queries) {
    const start = performance.now()
    const results = yield* retrieval.search(organization, { collection: COLLECTION, query: text, topK, minScore: 0 })
    milliseconds.push(performance.now() - start)
    found.push(results.map(({ id }) => id))
  }
  yield* Console.log(
    `top ${topK}: p50 ${percentile(milliseconds, 0.5).toFixed(1)} ms, p99 ${percentile(milliseconds, 0.99).toFixed(1)} ms`
  )
  return found
})

const bench = Effect.fnUntraced(function* (folder: string) {
  const organizations = yield* OrganizationStore
  const { driver } = yield* Database
  const documents = readDocuments(folder)
  const queries = readQueries(folder)
  yield* organizations.create({
    id: organization,
    name: "bench",
    grantedMicro: 0,
    key: { id: KeyId.make(organization), name: "bench", secretHmac: new Uint8Array(32), scopes: [] }
  })
  yield* Console.log(`${driver} database, ${documents.length} documents, ${queries.length} judged queries`)
  yield* indexAll(documents)
  yield* searchAll(queries, 10)
  const found = yield* searchAll(queries, RESULTS)
  const scores = queries.map(({ judgements }, index) => ndcg10(found[index]!, judgements))
  const recalls = queries.map(({ judgements }, index) => recall(found[index]!, judgements))
  yield* Console.log(`nDCG@10 ${mean(scores).toFixed(4)}, Recall@${RESULTS} ${mean(recalls).toFixed(4)}`)
  yield* Console.log(`memory at most ${megabytes(process.resourceUsage().maxRSS * 1024)}`)
})

const main = Effect.gen(function* () {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) return yield* Console.error("usage: npm run bench:search -- <folder>")
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "sluice-bench-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true }))
  )
  const settings = ConfigProvider.orElse(
    ConfigProvider.fromUnknown({ SLUICE_DATA_DIR: directory }),
    ConfigProvider.fromEnv()
  )
  const services = Layer.mergeAll(Indexing.layer, Retrieval.layer).pipe(
    Layer.provide(Embeddings.layer),
    Layer.provide(VectorStore.layer),
    Layer.provideMerge(OrganizationStore.layer),
    Layer.provideMerge(Database.layer),
    Layer.provide(ConfigProvider.layer(settings))
  )
  yield* bench(folder).pipe(Effect.provide(services))
})

await Effect.runPromise(Effect.scoped(main))
