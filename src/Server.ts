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
import { Rest } from "./rest/Rest.ts"
import { AccountStore } from "./store/AccountStore.ts"
import { OrganizationStore } from "./store/OrganizationStore.ts"
import { VectorStore } from "./store/VectorStore.ts"

/** The one composition of live layers. What it leaves open are the edges: database, HTTP server, files, settings. */

const Stores = Layer.mergeAll(AccountStore.layer, OrganizationStore.layer, VectorStore.layer)

const Accounts = Layer.mergeAll(Authentication.layer, Credits.layer).pipe(Layer.provideMerge(InstallationSecret.layer))

const Knowledge = Layer.mergeAll(Indexing.layer, Retrieval.layer)

const Providers = Layer.mergeAll(LanguageModels.layer, Embeddings.layer)

/** Everything that operations need, on a database. */
export const Services = Layer.mergeAll(Accounts, Knowledge).pipe(
  Layer.provideMerge(Providers),
  Layer.provideMerge(Stores)
)

/** Both surfaces on one HTTP server. */
export const Server = HttpRouter.serve(Layer.mergeAll(Rest, GraphQl), { disableLogger: true, disableListenLog: true })
