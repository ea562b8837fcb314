import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { Authentication } from "./accounts/Authentication.ts"
import { Credits } from "./accounts/Credits.ts"
import { firstStart } from "./accounts/FirstStart.ts"
import { InstallationSecret } from "./accounts/InstallationSecret.ts"
import { Keys } from "./accounts/Keys.ts"
import { Organizations } from "./accounts/Organizations.ts"
import { GraphQl } from "./graphql/GraphQl.ts"
import { Indexing } from "./knowledge/Indexing.ts"
import { Retrieval } from "./knowledge/Retrieval.ts"
import { Embeddings } from "./providers/Embeddings.ts"
import { LanguageModels } from "./providers/LanguageModels.ts"
import { HttpServerLive } from "./rest/HttpServer.ts"
import { Rest } from "./rest/Rest.ts"
import { AccountStore } from "./store/AccountStore.ts"
import { KeyStore } from "./store/KeyStore.ts"
import { LedgerStore } from "./store/LedgerStore.ts"
import { OrganizationStore } from "./store/OrganizationStore.ts"
import { VectorStore } from "./store/VectorStore.ts"
import { welcome } from "./Welcome.ts"

/** The one composition of live layers. What it leaves open are the edges: database, HTTP server, files, settings. */

const Stores = Layer.mergeAll(
  AccountStore.layer,
  KeyStore.layer,
  LedgerStore.layer,
  OrganizationStore.layer,
  VectorStore.layer
)

const Accounts = Layer.mergeAll(Authentication.layer, Credits.layer, Keys.layer, Organizations.layer).pipe(
  Layer.provideMerge(InstallationSecret.layer)
)

const Knowledge = Layer.mergeAll(Indexing.layer, Retrieval.layer)

const Providers = Layer.mergeAll(LanguageModels.layer, Embeddings.layer)

/** Everything that operations need, on a database. */
export const Services = Layer.mergeAll(Accounts, Knowledge).pipe(
  Layer.provideMerge(Providers),
  Layer.provideMerge(Stores)
)

/** Both surfaces on one HTTP server. */
export const Server = HttpRouter.serve(Layer.mergeAll(Rest, GraphQl), {
  disableLogger: true,
  disableListenLog: true,
  // Addresses are as they are written in the contract, but for a slash at the end.
  routerConfig: { caseSensitive: true, ignoreDuplicateSlashes: false }
})

/** Prepares an empty installation before the first call can arrive, then serves and tells where; on a database. */
export const serve = Effect.flatMap(firstStart, (keyFile) =>
  Layer.launch(Layer.effectDiscard(welcome(keyFile)).pipe(Layer.provide(Server), Layer.provide(HttpServerLive)))
).pipe(Effect.provide(Services))
