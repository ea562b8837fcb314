import { randomUUID } from "node:crypto"
import { NodeHttpServer, NodeServices } from "@effect/platform-node"
import { ConfigProvider, Context, Effect, Layer, Logger, Option, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { SqlClient } from "effect/sql"
import * as ApiKey from "../../src/accounts/ApiKey.ts"
import { InstallationSecret } from "../../src/accounts/InstallationSecret.ts"
import type { Scope } from "../../src/domain/Account.ts"
import { OrganizationId } from "../../src/domain/Ids.ts"
import { fromCredits } from "../../src/domain/Tariff.ts"
import { makeServer } from "../../src/rest/HttpServer.ts"
import { Server, Services } from "../../src/Server.ts"
import { OrganizationStore } from "../../src/store/OrganizationStore.ts"
import { layerEmbedded } from "./Database.ts"

/** An answer over HTTP; `json` is its body, `undefined` when that is not JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: ReturnType<typeof JSON.parse>
}

export interface TenantOptions {
  readonly credits?: number
  readonly perMinute?: number
  readonly perDay?: number
  readonly scopes?: ReadonlyArray<Scope>
}

/** An organization with one key. */
export interface Tenant {
  readonly organizationId: OrganizationId
  readonly key: string
}

/** The whole gateway in this process, on a real socket and a database of its own. */
export class Gateway extends Context.Service<
  Gateway,
  {
    readonly url: string
    /** A new organization: 1,000 credits, all scopes and no rate limit to speak of, unless told otherwise. */
    tenant(options?: TenantOptions): Effect.Effect<Tenant>
    /** Any request; `body` goes as JSON unless it is a string. */
    request(
      path: string,
      options?: {
        readonly key?: string
        readonly method?: string
        readonly body?: unknown
        readonly headers?: Readonly<Record<string, string>>
      }
    ): Effect.Effect<Answer>
    /** A GraphQL request. */
    graphql(
      tenant: Pick<Tenant, "key">,
      query: string,
      variables?: Readonly<Record<string, unknown>>
    ): Effect.Effect<Answer>
    /** The account's row, in micro-credits, and what its ledger and holds sum up to. */
    account(tenant: Tenant): Effect.Effect<{
      readonly granted: number
      readonly posted: number
      readonly held: number
      readonly charges: number
      readonly holds: number
    }>
  }
>()("test/Gateway") {}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const send = (url: string, init: RequestInit): Effect.Effect<Answer> =>
  Effect.promise(async (signal) => {
    const response = await fetch(url, { ...init, signal })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: parse(text) }
  })

const make = Effect.gen(function* () {
  const { address } = yield* HttpServer.HttpServer
  const organizations = yield* OrganizationStore
  const pepper = yield* InstallationSecret
  const sql = yield* SqlClient.SqlClient
  const url = HttpServer.formatAddress(address)

  const tenant = Effect.fnUntraced(function* (options: TenantOptions = {}) {
    const { credits = 1000, perDay = 1_000_000, perMinute = 1_000_000 } = options
    const scopes = options.scopes ?? ["invoke", "manage", "admin", "operator"]
    const organizationId = OrganizationId.make(randomUUID())
    const key = ApiKey.generate()
    yield* organizations.create({
      id: organizationId,
      name: "test",
      grantedMicro: fromCredits(credits),
      key: { id: Option.getOrThrow(ApiKey.keyId(key)), name: "test", secretHmac: ApiKey.hmac(key, pepper), scopes }
    })
    yield* sql`
      UPDATE accounts SET per_minute = ${perMinute}, per_day = ${perDay} WHERE organization_id = ${organizationId}`
    return { organizationId, key: Redacted.value(key) }
  }, Effect.orDie)

  const request: Gateway["Service"]["request"] = (path, { body, headers, key, method } = {}) =>
    send(`${url}${path}`, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })

  const graphql: Gateway["Service"]["graphql"] = ({ key }, query, variables = {}) =>
    request("/graphql", { key, body: { query, variables } })

  const account = Effect.fnUntraced(function* ({ organizationId }: Tenant) {
    const [row] = yield* sql<Effect.Success<ReturnType<Gateway["Service"]["account"]>>>`
      SELECT granted, posted, held,
        (SELECT coalesce(sum(amount), 0)::bigint FROM ledger_entries e
          WHERE e.organization_id = a.organization_id AND kind = 'charge') AS charges,
        (SELECT coalesce(sum(amount), 0)::bigint FROM holds h WHERE h.organization_id = a.organization_id) AS holds
        FROM accounts a WHERE organization_id = ${organizationId}`
    return row!
  }, Effect.orDie)

  return Gateway.of({ url, tenant, request, graphql, account })
})

/** Settings of the gateways in tests; `extra` overrides them. */
const settings = (extra: Readonly<Record<string, string>>) =>
  ConfigProvider.layer(ConfigProvider.fromUnknown({ SLUICE_SECRET: "secret-of-the-test-suite", ...extra }))

/** A gateway of its own. `env` are its settings; `database` is embedded unless told otherwise. */
export const layerGateway = (env: Readonly<Record<string, string>> = {}, database = layerEmbedded) =>
  Layer.effect(Gateway, make).pipe(
    Layer.provideMerge(Server),
    Layer.provide(NodeHttpServer.layer(makeServer, { host: "127.0.0.1", port: 0 })),
    Layer.provideMerge(Services),
    Layer.provideMerge(database),
    Layer.provide(settings(env)),
    Layer.provide(NodeServices.layer),
    Layer.provide(Logger.layer([])),
    Layer.orDie
  )
