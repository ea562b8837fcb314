import { createServer } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { ConfigProvider, Context, Effect, Layer, MutableRef, Option, Redacted } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { Authentication, Unauthorized } from "../../src/accounts/Authentication.ts"
import { Credits, InsufficientCredits, RateLimited } from "../../src/accounts/Credits.ts"
import { Keys } from "../../src/accounts/Keys.ts"
import { Organizations } from "../../src/accounts/Organizations.ts"
import type { Scope } from "../../src/domain/Account.ts"
import { KeyId, type OperationId, OrganizationId } from "../../src/domain/Ids.ts"
import { MICRO_PER_CREDIT, toCredits } from "../../src/domain/Tariff.ts"
import { GraphQl } from "../../src/graphql/GraphQl.ts"
import { Indexing } from "../../src/knowledge/Indexing.ts"
import { Retrieval } from "../../src/knowledge/Retrieval.ts"
import { Embeddings } from "../../src/providers/Embeddings.ts"
import { LanguageModels } from "../../src/providers/LanguageModels.ts"
import {
  ModelNotFound,
  ModelRefused,
  ProviderError,
  ProviderFailed,
  ProviderNotConfigured,
  ProviderOverloaded,
  ProviderTimeout
} from "../../src/providers/ProviderError.ts"
import { Rest } from "../../src/rest/Rest.ts"
import { Database } from "../../src/store/Database.ts"
import { LedgerStore } from "../../src/store/LedgerStore.ts"
import { StoreUnavailable } from "../../src/store/StoreUnavailable.ts"
import { CollectionNotFound, EmbeddingMismatch } from "../../src/store/VectorStore.ts"

/**
 * Both surfaces on a real HTTP server, over services that live in memory. What a call asks for decides how it ends: the
 * names of models, collections and keys below.
 */

export const keys = {
  all: "key-with-all-scopes",
  invokeOnly: "key-with-invoke-only",
  databaseDown: "key-while-the-database-is-down"
}

const scopes: Record<string, ReadonlyArray<Scope>> = {
  [keys.all]: ["invoke", "manage", "admin"],
  [keys.invokeOnly]: ["invoke"]
}

/** What the fakes saw and hold. */
export interface GatewayState {
  grantedMicro: number
  spentMicro: number
  readonly holds: Map<OperationId, number>
  /** Calls that may still be made. */
  remaining: number
  readonly charges: Array<readonly [operation: string, micro: number]>
  /** Prompts whose generation is under way. */
  readonly running: Set<string>
  readonly started: Array<string>
  readonly indexed: Array<unknown>
  searching: "quick" | "endless"
}

const LIMIT = 100

const makeState = (): GatewayState => ({
  grantedMicro: 1000 * MICRO_PER_CREDIT,
  spentMicro: 0,
  holds: new Map(),
  remaining: LIMIT,
  charges: [],
  running: new Set(),
  started: [],
  indexed: [],
  searching: "quick"
})

const AuthenticationFake = Layer.succeed(
  Authentication,
  Authentication.of({
    authenticate: Effect.fnUntraced(function* (key) {
      const name = Redacted.value(key)
      if (name === keys.databaseDown) return yield* new StoreUnavailable({ cause: "down" })
      const granted = scopes[name]
      if (granted === undefined) return yield* new Unauthorized()
      return {
        organizationId: OrganizationId.make("organization"),
        keyId: KeyId.make(name),
        scopes: new Set(granted),
        rateLimits: MutableRef.make(Option.none()),
        replayed: MutableRef.make(false)
      }
    })
  })
)

const creditsFake = (state: GatewayState) => {
  const operations = new Map<OperationId, string>()
  const heldMicro = () => [...state.holds.values()].reduce((sum, micro) => sum + micro, 0)
  const quota = () => ({ limit: LIMIT, remaining: state.remaining, resetSeconds: 12 })
  const rateLimits = () => ({ minute: quota(), day: quota() })
  return Credits.of({
    admit: Effect.fnUntraced(function* (_, { boundMicro, operation, operationId }) {
      if (state.remaining === 0) return yield* new RateLimited({ rateLimits: rateLimits() })
      const availableMicro = state.grantedMicro - state.spentMicro - heldMicro()
      if (boundMicro > availableMicro) {
        return yield* new InsufficientCredits({ requiredMicro: boundMicro, availableMicro })
      }
      state.remaining -= 1
      state.holds.set(operationId, boundMicro)
      operations.set(operationId, operation)
      return { rateLimits: rateLimits(), replay: Option.none() }
    }),
    settle: (_, { operationId, usedMicro }) =>
      Effect.sync(() => {
        state.holds.delete(operationId)
        state.spentMicro += usedMicro
        state.charges.push([operations.get(operationId)!, usedMicro])
        return usedMicro
      }),
    rateLimits: () => Effect.sync(rateLimits),
    balance: () =>
      Effect.sync(() => ({
        balance: toCredits(state.grantedMicro - state.spentMicro - heldMicro()),
        held: toCredits(heldMicro()),
        spent: toCredits(state.spentMicro),
        granted: toCredits(state.grantedMicro)
      }))
  })
}

const failures = {
  missing: new ModelNotFound({ model: "missing" }),
  refusing: new ModelRefused({ path: "options.max_tokens", message: "Expected at most 8" }),
  overloaded: new ProviderOverloaded({ retryAfterMs: 1500 }),
  late: new ProviderTimeout(),
  failing: new ProviderFailed({ status: 500 })
}

/** Fails as the model's name says, or when the vendor is not `local`. */
const resolveModel = (selector: { readonly provider?: string; readonly name?: string } | undefined) => {
  const { name = "plain", provider = "local" } = selector ?? {}
  const configured = ["local"]
  const reason =
    provider === "local" ? failures[name as keyof typeof failures] : new ProviderNotConfigured({ configured })
  if (reason !== undefined) return new ProviderError({ provider, reason, cause: "the vendor's secret words" })
  return Effect.succeed({ provider, name })
}

/** Runs `effect`, or for ever, and lets the state tell that it runs. */
const asRunning = <A, E, R>(state: GatewayState, name: string, effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      state.started.push(name)
      state.running.add(name)
    }),
    () => effect,
    () => Effect.sync(() => state.running.delete(name))
  )

const languageModelsFake = (state: GatewayState) =>
  LanguageModels.of({
    resolve: (selector) =>
      Effect.map(resolveModel(selector), (model) => ({
        ...model,
        defaultMaxTokens: 100,
        maxOutputTokens: 1000,
        generate: ({ maxTokens, prompt, system }) => {
          if (model.name === "buggy") throw new Error("a secret inner text")
          const generation = {
            text: `${system ?? "plain"}: ${prompt} (${maxTokens})`,
            finishReason: "content_filter" as const,
            usage: {
              prompt_tokens: 400,
              completion_tokens: 600,
              total_tokens: model.name === "fractional" ? 1000.5 : 1000
            },
            warnings: model.name === "warning" ? ["temperature is ignored"] : []
          }
          return asRunning(state, prompt, model.name === "endless" ? Effect.never : Effect.succeed(generation))
        }
      }))
  })

const EmbeddingsFake = Layer.succeed(
  Embeddings,
  Embeddings.of({
    resolve: (selector) =>
      Effect.map(resolveModel(selector), (model) => ({
        ...model,
        dimensions: selector?.dimensions ?? 2,
        embed: (texts) => Effect.succeed(texts.map((text) => [text.length, 0.5]))
      }))
  })
)

const indexingFake = (state: GatewayState) =>
  Indexing.of({
    index: Effect.fnUntraced(function* (_, request) {
      state.indexed.push(request)
      yield* resolveModel(request.model)
      if (request.collection !== "mismatched") return { chunksCreated: request.documents.length * 2 }
      return yield* new EmbeddingMismatch({
        collection: request.collection,
        expected: { provider: "local", model: "lexical-384", dimensions: 384 },
        actual: { provider: "local", model: "other", dimensions: 2 }
      })
    })
  })

const retrievalFake = (state: GatewayState) =>
  Retrieval.of({
    search: Effect.fnUntraced(function* (_, { collection, minScore, query, topK }) {
      if (collection !== "papers") return yield* new CollectionNotFound({ collection })
      yield* asRunning(state, query, state.searching === "endless" ? Effect.never : Effect.void)
      return [
        {
          id: "1",
          content: `${query} ${topK} ${minScore}`,
          score: 0.75,
          metadata: { title: "One", snake_case: { inner_key: null } }
        }
      ]
    })
  })

const DatabaseFake = Layer.succeed(Database, Database.of({ driver: "embedded", check: Effect.void }))

/** Management is tested on a database; here it is only in the way of nobody. */
const ManagementFake = Layer.mergeAll(
  Layer.mock(Keys)({}),
  Layer.mock(LedgerStore)({}),
  Layer.mock(Organizations)({ target: ({ organizationId }) => Effect.succeed(organizationId) })
)

const services = (state: GatewayState) =>
  Layer.mergeAll(
    AuthenticationFake,
    Layer.succeed(Credits, creditsFake(state)),
    Layer.succeed(LanguageModels, languageModelsFake(state)),
    EmbeddingsFake,
    Layer.succeed(Indexing, indexingFake(state)),
    Layer.succeed(Retrieval, retrievalFake(state)),
    ManagementFake,
    DatabaseFake
  )

const settings = ConfigProvider.layer(ConfigProvider.fromUnknown({ SLUICE_MAX_BODY_SIZE: "1MiB" }))

/** An answer as a client sees it. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly data: Record<string, unknown> | null | undefined
  readonly errors: ReadonlyArray<{
    readonly message: string
    readonly path?: ReadonlyArray<string>
    readonly extensions: Record<string, unknown>
  }>
}

export interface Request {
  readonly key?: string | undefined
  readonly headers?: Record<string, string>
}

const request = (url: string, { headers, key = keys.all }: Request, init: RequestInit) =>
  Effect.promise(async (signal) => {
    const authorization = key === "" ? {} : { authorization: `Bearer ${key}` }
    const response = await fetch(url, { signal, ...init, headers: { ...authorization, ...headers } })
    return { status: response.status, headers: response.headers, text: await response.text() }
  })

const json = { "content-type": "application/json" }

/** Starts both surfaces on a free port of this machine, for the time of the scope. */
export const startGateway = Effect.gen(function* () {
  const state = makeState()
  const server = HttpRouter.serve(Layer.mergeAll(Rest, GraphQl), {
    disableLogger: true,
    disableListenLog: true
  }).pipe(
    Layer.provide(services(state)),
    Layer.provide(settings),
    Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
  )
  const { address } = Context.get(yield* Layer.build(server), HttpServer.HttpServer)
  const origin = HttpServer.formatAddress(address)

  /** Posts a body as it is. */
  const postText = Effect.fnUntraced(function* (body: BodyInit, options: Request = {}) {
    const headers = { ...json, ...options.headers }
    // A body that is a stream is sent in chunks, and needs `duplex`.
    const init = { method: "POST", body, duplex: "half" }
    const answer = yield* request(`${origin}/graphql`, { ...options, headers }, init)
    const parsed = JSON.parse(answer.text)
    return { ...answer, data: parsed.data, errors: parsed.errors ?? [] } satisfies Answer as Answer
  })

  const post = (query: string, variables?: Record<string, unknown>, options: Request = {}) =>
    postText(JSON.stringify({ query, variables }), options)

  const get = (path: string, options: Request = {}) => request(`${origin}${path}`, options, { method: "GET" })

  const rest = (path: string, body: unknown, options: Request = {}) =>
    request(
      `${origin}${path}`,
      { ...options, headers: { ...json, ...options.headers } },
      body === undefined ? { method: "GET" } : { method: "POST", body: JSON.stringify(body) }
    )

  return { state, origin, post, postText, get, rest }
})
