import { Layer } from "effect"
import { HttpRouter } from "effect/http"
import { Authentication } from "./accounts/Authentication.ts"
import { Credits } from "./accounts/Credits.ts"
import { InstallationSecret } from "./accounts/InstallationSecret.ts"
import { GraphQl } from "./graphql/GraphQl.ts"
import { Indexing } from "./knowledge/Indexing.ts"
import { Retrieval } from "./knowledge/Retrieval.ts"
import { Embeddings } from "./providers/Embeddings.ts"
import { LanguageModels } from "./providers/LanguageModels.ts"
import { BodyLimit } from "./rest/HttpServer.ts"
import { Rest } from "./rest/Rest.ts"
import { AccountStore } from "./store/AccountStore.ts"
import { Database } from "./store/Database.ts"
import { OrganizationStore } from "./store/OrganizationStore.ts"
import { VectorStore } from "./store/VectorStore.ts"

/** The one composition of live layers. What it leaves open are the edges: the HTTP server, the file system, settings. */

export const Stores = Layer.mergeAll(AccountStore.layer, OrganizationStore.layer, VectorStore.layer).pipe(
  Layer.provideMerge(Database.layer)
)

const Accounts = Layer.mergeAll(Authentication.layer, Credits.layer).pipe(Layer.provideMerge(InstallationSecret.layer))

const Knowledge = Layer.mergeAll(Indexing.layer, Retrieval.layer)

const Providers = Layer.mergeAll(LanguageModels.layer, Embeddings.layer)

/** Everything that operations need. */
export const Services = Layer.mergeAll(Accounts, Knowledge).pipe(
  Layer.provideMerge(Providers),
  Layer.provideMerge(Stores)
)

const Surfaces = Layer.mergeAll(Rest, GraphQl)

/** Both surfaces on one HTTP server, which needs `Services`. */
export const Server = HttpRouter.serve(Surfaces, { disableLogger: true, disableListenLog: true }).pipe(
  // Merged among the surfaces it would not reach the requests.
  Layer.provide(BodyLimit)
)
