import { randomUUID } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { ALL_SCOPES, type Scope } from "../../src/domain/Account.ts"
import { Gateway, layerGateway, type Tenant } from "../support/Gateway.ts"

const CREATE_KEY = `mutation ($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { secret apiKey { id name scopes status expiresAt } } }`
const ROTATE_KEY = `mutation ($input: RotateApiKeyInput!) {
  rotateApiKey(input: $input) { secret apiKey { id name scopes rotatedFrom } } }`
const REVOKE_KEY = `mutation ($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { id status revokedAt } }`
const KEYS = `query ($organizationId: String) {
  apiKeys(organizationId: $organizationId) { id name scopes status createdAt expiresAt revokedAt rotatedFrom } }`
const CREATE_ORGANIZATION = `mutation ($input: CreateOrganizationInput!) {
  createOrganization(input: $input) { id name secret apiKey { id scopes } } }`
const GRANT = `mutation ($input: GrantCreditsInput!) { grantCredits(input: $input) { organizationId granted balance } }`
const SET_LIMITS = `mutation ($input: SetLimitsInput!) { setLimits(input: $input) { organizationId perMinute perDay } }`
const LEDGER = `query ($first: Int, $after: String, $kind: LedgerKind, $operation: String, $from: String, $to: String) {
  credits { balance spent granted ledger(
    first: $first, after: $after, kind: $kind, operation: $operation, from: $from, to: $to
  ) { edges { cursor node { id kind operation operationId amount createdAt } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
const USAGE = `query ($from: String, $to: String) {
  usage(from: $from, to: $to) { from to charges creditsUsed rows { day operation charges creditsUsed } } }`

type Variables = Readonly<Record<string, unknown>>

const call = Effect.fnUntraced(function* (as: Pick<Tenant, "key">, document: string, variables: Variables = {}) {
  const { json } = yield* (yield* Gateway).graphql(as, document, variables)
  return { data: json.data, code: json.errors?.[0].extensions.code as string | undefined, errors: json.errors }
})

type Answered = Effect.Success<ReturnType<typeof call>>

const createKey = Effect.fnUntraced(function* (as: Pick<Tenant, "key">, input: Variables = {}) {
  const { data, errors } = yield* call(as, CREATE_KEY, { input: { name: "key", scopes: ["invoke"], ...input } })
  assert.isUndefined(errors)
  return data.createApiKey as {
    readonly secret: string
    readonly apiKey: { readonly id: string; readonly [field: string]: unknown }
  }
})

/** Each management field, with a call of it that succeeds for whoever may make it. */
const fields: ReadonlyArray<{
  readonly name: string
  readonly needs: Scope
  readonly document: string
  readonly variables?: (operator: Tenant) => Effect.Effect<Variables, unknown, Gateway>
}> = [
  { name: "apiKeys", needs: "admin", document: KEYS },
  { name: "credits", needs: "admin", document: "{ credits { balance } }" },
  { name: "credits.ledger", needs: "admin", document: LEDGER },
  { name: "usage", needs: "admin", document: USAGE },
  {
    name: "createApiKey",
    needs: "admin",
    document: CREATE_KEY,
    variables: () => Effect.succeed({ input: { name: "key", scopes: ["admin"] } })
  },
  {
    name: "rotateApiKey",
    needs: "admin",
    document: ROTATE_KEY,
    variables: (tenant) =>
      Effect.map(createKey(tenant, { scopes: ["admin"] }), ({ apiKey }) => ({ input: { id: apiKey.id } }))
  },
  {
    name: "revokeApiKey",
    needs: "admin",
    document: REVOKE_KEY,
    variables: (tenant) => Effect.map(createKey(tenant), ({ apiKey }) => ({ input: { id: apiKey.id } }))
  },
  {
    name: "createOrganization",
    needs: "operator",
    document: CREATE_ORGANIZATION,
    variables: () => Effect.succeed({ input: { name: "New" } })
  },
  {
    name: "grantCredits",
    needs: "operator",
    document: GRANT,
    variables: ({ organizationId }) => Effect.succeed({ input: { organizationId, credits: 1, id: randomUUID() } })
  },
  {
    name: "setLimits",
    needs: "operator",
    document: SET_LIMITS,
    variables: ({ organizationId }) => Effect.succeed({ input: { organizationId, perMinute: 1000, perDay: 1000 } })
  }
]

const embed = Effect.fnUntraced(function* (tenant: Tenant) {
  const answer = yield* (yield* Gateway).request("/v1/embed", {
    key: tenant.key,
    body: { texts: ["text"], model: { provider: "local" } }
  })
  assert.strictEqual(answer.status, 200)
})

describe("Management over GraphQL", () => {
  layer(layerGateway(), { excludeTestServices: true })((it) => {
    for (const { document, name, needs, variables } of fields) {
      for (const scope of ALL_SCOPES) {
        const allowed = scope === needs || scope === "operator"
        it.effect(`${allowed ? "serves" : "refuses"} ${name} to a key with the scope ${scope} alone`, () =>
          Effect.gen(function* () {
            const operator = yield* (yield* Gateway).tenant()
            const { secret } = yield* createKey(operator, { scopes: [scope] })
            const input = variables === undefined ? {} : yield* variables(operator)
            const { code, data } = yield* call({ key: secret }, document, input)
            assert.strictEqual(code, allowed ? undefined : "forbidden")
            if (allowed) assert.isNotNull(Object.values(data)[0])
          })
        )
      }
    }

    it.effect("makes a key that works at once, shows its secret once and keeps only a digest of it", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const tenant = yield* gateway.tenant()
        const expiresAt = "2100-01-01T00:00:00.000Z"
        const { apiKey, secret } = yield* createKey(tenant, {
          name: "backend",
          scopes: ["invoke", "manage"],
          expiresAt
        })
        assert.deepInclude(apiKey, { name: "backend", scopes: ["invoke", "manage"], status: "active", expiresAt })
        assert.strictEqual((yield* gateway.request("/v1/", { key: secret })).status, 200)
        const listed = yield* call(tenant, KEYS)
        assert.deepStrictEqual(
          listed.data.apiKeys.map(({ id }: { id: string }) => id).sort(),
          [apiKey.id, tenant.key.split("_")[1]].sort()
        )
        assert.notInclude(JSON.stringify(listed), secret.split("_")[2]!)
        assert.deepStrictEqual(yield* tablesWith(secret.split("_")[2]!), [])
        assert.include(yield* tablesWith(apiKey.id), "api_keys")
      })
    )

    it.effect("rotates a key: both work in the overlap, and only the new one without an overlap", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const tenant = yield* gateway.tenant()
        const old = yield* createKey(tenant)
        const rotated = (yield* call(tenant, ROTATE_KEY, { input: { id: old.apiKey.id } })).data.rotateApiKey
        assert.deepInclude(rotated.apiKey, { name: "key", scopes: ["invoke"], rotatedFrom: old.apiKey.id })
        for (const key of [old.secret, rotated.secret]) {
          assert.strictEqual((yield* gateway.request("/v1/", { key })).status, 200)
        }
        const again = yield* call(tenant, ROTATE_KEY, { input: { id: old.apiKey.id } })
        assert.strictEqual(again.code, "key_inactive")
        const fresh = yield* createKey(tenant)
        yield* call(tenant, ROTATE_KEY, { input: { id: fresh.apiKey.id, overlapSeconds: 0 } })
        assert.strictEqual((yield* gateway.request("/v1/", { key: fresh.secret })).status, 401)
      })
    )

    it.effect("says what is wrong with a request about keys", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const tenant = yield* gateway.tenant({ scopes: ["admin"] })
        const id = tenant.key.split("_")[1]
        const codeOf = (document: string, input: Variables) =>
          Effect.map(call(tenant, document, { input }), ({ code }) => code)
        assert.strictEqual(yield* codeOf(CREATE_KEY, { name: "key", scopes: ["invoke"] }), "forbidden")
        assert.strictEqual(yield* codeOf(REVOKE_KEY, { id }), "last_admin_key")
        assert.strictEqual(yield* codeOf(REVOKE_KEY, { id: "nothing" }), "key_not_found")
        assert.strictEqual(yield* codeOf(ROTATE_KEY, { id, overlapSeconds: -1 }), "validation_failed")
        assert.strictEqual(yield* codeOf(CREATE_KEY, { name: "a\u0007", scopes: ["admin"] }), "validation_failed")
        assert.strictEqual(yield* codeOf(CREATE_KEY, { name: "key", scopes: [] }), "validation_failed")
        for (const expiresAt of ["2020-01-01T00:00:00Z", "2100-01-01", "2100-01-01T00:00:00", "2100-13-01T00:00:00Z"]) {
          const { errors } = yield* call(tenant, CREATE_KEY, { input: { name: "key", scopes: ["admin"], expiresAt } })
          assert.strictEqual(errors?.[0].extensions.details[0].path, "expiresAt", expiresAt)
        }
        const foreign = yield* gateway.tenant()
        assert.strictEqual((yield* call(tenant, KEYS, { organizationId: foreign.organizationId })).code, "forbidden")
        assert.strictEqual(yield* codeOf(REVOKE_KEY, { id: foreign.key.split("_")[1] }), "key_not_found")
      })
    )

    it.effect("counts management against the rate limit and charges nothing for it", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const tenant = yield* gateway.tenant({ perMinute: 2 })
        yield* createKey(tenant)
        assert.isUndefined((yield* call(tenant, KEYS)).code)
        assert.strictEqual((yield* call(tenant, KEYS)).code, "rate_limited")
        assert.deepInclude(yield* gateway.account(tenant), { posted: 0, held: 0 })
      })
    )

    it.effect("keeps a key to its own limit, below that of its organization, also after a rotation", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const tenant = yield* gateway.tenant()
        const { apiKey, secret } = yield* createKey(tenant, { scopes: ["admin"], perMinute: 1 })
        assert.isUndefined((yield* call({ key: secret }, KEYS)).code)
        assert.strictEqual((yield* call({ key: secret }, KEYS)).code, "rate_limited")
        const rotated = (yield* call(tenant, ROTATE_KEY, { input: { id: apiKey.id } })).data.rotateApiKey
        assert.isUndefined((yield* call({ key: rotated.secret }, KEYS)).code)
        assert.strictEqual((yield* call({ key: rotated.secret }, KEYS)).code, "rate_limited")
        assert.isUndefined((yield* call(tenant, KEYS)).code)
      })
    )

    it.effect("makes an organization whose first key does everything within it and nothing outside", () =>
      Effect.gen(function* () {
        const operator = yield* (yield* Gateway).tenant()
        const id = `org-${randomUUID().slice(0, 8)}`
        const made = yield* call(operator, CREATE_ORGANIZATION, { input: { id, name: "Acme", credits: 2.5 } })
        assert.deepInclude(made.data.createOrganization, { id, name: "Acme" })
        const own = { key: made.data.createOrganization.secret as string }
        assert.deepInclude((yield* call(own, LEDGER)).data.credits, { balance: 2.5, granted: 2.5, spent: 0 })
        assert.lengthOf((yield* call(own, KEYS)).data.apiKeys, 1)
        assert.strictEqual((yield* call(own, SET_LIMITS, { input: { organizationId: id } })).code, "forbidden")
        const again = yield* call(operator, CREATE_ORGANIZATION, { input: { id, name: "Acme" } })
        assert.strictEqual(again.code, "organization_exists")
        assert.lengthOf((yield* call(operator, KEYS, { organizationId: id })).data.apiKeys, 1)
        const nameless = yield* call(operator, CREATE_ORGANIZATION, { input: { name: "Nameless" } })
        assert.match(nameless.data.createOrganization.id, /^org_[0-9a-f]{32}$/)
      })
    )

    it.effect("grants once for each id, whatever is retried at once", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const operator = yield* gateway.tenant({ credits: 10 })
        const { organizationId } = operator
        const input = { organizationId, credits: 0.000001, id: "invoice-7" }
        const answers = yield* Effect.all(
          Array.from({ length: 10 }, () => call(operator, GRANT, { input })),
          { concurrency: 10 }
        )
        for (const { data } of answers) {
          assert.deepStrictEqual(data.grantCredits, { organizationId, granted: 10.000001, balance: 10.000001 })
        }
        assert.strictEqual((yield* gateway.account(operator)).granted, 10_000_001)
        const codeOf = (change: Variables) =>
          Effect.map(call(operator, GRANT, { input: { ...input, ...change } }), ({ code }) => code)
        assert.strictEqual(yield* codeOf({ credits: 2 }), "idempotency_mismatch")
        assert.strictEqual(yield* codeOf({ id: "b", organizationId: "nobody" }), "organization_not_found")
        assert.strictEqual(yield* codeOf({ id: "c", credits: -1 }), "validation_failed")
        assert.strictEqual(yield* codeOf({ id: "d", credits: 0.0000001 }), "validation_failed")
        assert.strictEqual((yield* gateway.account(operator)).granted, 10_000_001)
      })
    )

    it.effect("sets limits that hold from the next call on, and takes them back", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const operator = yield* gateway.tenant()
        const tenant = yield* gateway.tenant({ scopes: ["admin"] })
        const { organizationId } = tenant
        const set = yield* call(operator, SET_LIMITS, { input: { organizationId, perMinute: 1, perDay: 7 } })
        assert.deepStrictEqual(set.data.setLimits, { organizationId, perMinute: 1, perDay: 7 })
        assert.isUndefined((yield* call(tenant, KEYS)).code)
        assert.strictEqual((yield* call(tenant, KEYS)).code, "rate_limited")
        const reset = yield* call(operator, SET_LIMITS, { input: { organizationId } })
        assert.deepStrictEqual(reset.data.setLimits, { organizationId, perMinute: 60, perDay: 10_000 })
        assert.isUndefined((yield* call(tenant, KEYS)).code)
        const nobody = yield* call(operator, SET_LIMITS, { input: { organizationId: "nobody", perMinute: 5 } })
        assert.strictEqual(nobody.code, "organization_not_found")
      })
    )

    it.effect("adds up usage by day and operation, and to what the pool was charged", () =>
      Effect.gen(function* () {
        const gateway = yield* Gateway
        const tenant = yield* gateway.tenant()
        for (let i = 0; i < 3; i++) yield* embed(tenant)
        yield* gateway.request("/v1/index", {
          key: tenant.key,
          body: { collection: "c", documents: [{ id: "1", content: "text" }], model: { provider: "local" } }
        })
        const today = new Date().toISOString().slice(0, 10)
        const { data } = yield* call(tenant, USAGE, { from: today, to: today })
        assert.deepInclude(data.usage, { charges: 4, creditsUsed: 2 })
        assert.deepStrictEqual(data.usage.rows, [
          { day: today, operation: "embed", charges: 3, creditsUsed: 1.5 },
          { day: today, operation: "index", charges: 1, creditsUsed: 0.5 }
        ])
        assert.deepStrictEqual((yield* call(tenant, USAGE)).data.usage.rows, data.usage.rows)
        const past = yield* call(tenant, USAGE, { from: "2020-01-01", to: "2020-12-31" })
        assert.deepInclude(past.data.usage, { charges: 0, creditsUsed: 0, rows: [], to: "2021-01-01T00:00:00.000Z" })
        assert.strictEqual((yield* call(tenant, USAGE, { from: "yesterday" })).code, "validation_failed")
      })
    )

    it.effect(
      "pages through the ledger so that each entry comes once, in order, whatever the page size and filters",
      () =>
        Effect.gen(function* () {
          const gateway = yield* Gateway
          const tenant = yield* gateway.tenant()
          const entries = yield* insertEntries(tenant)
          const pages = Effect.fnUntraced(function* (filter: Variables, first: number) {
            const nodes: Array<{ readonly operationId: string }> = []
            let after: string | null = null
            while (true) {
              const answer: Answered = yield* call(tenant, LEDGER, { ...filter, first, after })
              assert.isUndefined(answer.errors)
              const { edges, pageInfo }: Page = answer.data.credits.ledger
              assert.strictEqual(pageInfo.hasPreviousPage, after !== null)
              assert.strictEqual(pageInfo.endCursor, edges.at(-1)?.cursor ?? null)
              assert.strictEqual(pageInfo.startCursor, edges[0]?.cursor ?? null)
              if (pageInfo.hasNextPage) assert.lengthOf(edges, first)
              for (const { node } of edges) nodes.push(node)
              if (!pageInfo.hasNextPage) return nodes.map(({ operationId }) => operationId)
              after = pageInfo.endCursor
            }
          })
          const context = yield* Effect.context<Gateway>()
          const filters = fc.record(
            {
              kind: fc.constantFrom("grant", "charge"),
              operation: fc.constantFrom("embed", "search", "nothing"),
              from: fc.constantFrom("2026-01-01", "2026-01-02", "2026-01-02T12:00:00Z", "2026-01-04"),
              to: fc.constantFrom("2026-01-01", "2026-01-02", "2026-01-02T14:00:00+02:00", "2026-01-03")
            },
            { requiredKeys: [] }
          )
          const property = fc.asyncProperty(filters, fc.integer({ min: 3, max: 60 }), async (filter, first) => {
            const found = await Effect.runPromiseWith(context)(pages(filter, first))
            assert.deepStrictEqual(
              found,
              entries.filter((entry) => matches(entry, filter)).map(({ operationId }) => operationId)
            )
          })
          yield* Effect.promise(() => fc.assert(property, { numRuns: 40 }))
          for (const variables of [{ first: 0 }, { first: 501 }, { after: "e0" }, { after: "x" }, { from: "soon" }]) {
            assert.strictEqual((yield* call(tenant, LEDGER, variables)).code, "validation_failed")
          }
        })
    )
  })
})

interface Page {
  readonly edges: ReadonlyArray<{ readonly cursor: string; readonly node: { readonly operationId: string } }>
  readonly pageInfo: {
    readonly hasNextPage: boolean
    readonly hasPreviousPage: boolean
    readonly startCursor: string | null
    readonly endCursor: string | null
  }
}

interface Entry {
  readonly operationId: string
  readonly kind: string
  readonly operation: string
  readonly createdAt: Date
}

/** 90 entries of three days, one each 48 minutes; answered the newest first, the tenant's own grant at the end. */
const insertEntries = Effect.fnUntraced(function* ({ organizationId }: Tenant) {
  const sql = yield* SqlClient.SqlClient
  const entries = Array.from({ length: 90 }, (_, i): Entry => {
    const kind = i % 5 === 0 ? "grant" : "charge"
    const operation = kind === "grant" ? "grant" : i % 2 === 0 ? "embed" : "search"
    const createdAt = new Date(Date.UTC(2026, 0, 1) + i * 48 * 60_000)
    return { operationId: `${organizationId}/${i}`, kind, operation, createdAt }
  })
  for (const { createdAt, kind, operation, operationId } of entries) {
    yield* sql`
      INSERT INTO ledger_entries (organization_id, kind, operation_id, operation, amount, created_at)
      VALUES (${organizationId}, ${kind}, ${operationId}, ${operation}, 0, ${createdAt})`
  }
  const [first] = yield* sql<Entry>`
    SELECT operation_id AS "operationId", kind, operation, created_at AS "createdAt" FROM ledger_entries
     WHERE organization_id = ${organizationId} ORDER BY id LIMIT 1`
  return [...entries.reverse(), first!]
}, Effect.orDie)

interface Filter {
  readonly kind?: string
  readonly operation?: string
  readonly from?: string
  readonly to?: string
}

/** The oracle: a day as `to` ends at its last millisecond. */
const matches = ({ createdAt, kind, operation }: Entry, filter: Filter): boolean => {
  if (filter.kind !== undefined && filter.kind !== kind) return false
  if (filter.operation !== undefined && filter.operation !== operation) return false
  if (filter.from !== undefined && createdAt < new Date(filter.from)) return false
  if (filter.to === undefined) return true
  return filter.to.includes("T") ? createdAt < new Date(filter.to) : createdAt <= new Date(`${filter.to}T23:59:59.999Z`)
}

/** The tables in which a text stands anywhere, bytes included. */
const tablesWith = Effect.fnUntraced(function* (text: string) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`
  const hex = Buffer.from(text).toString("hex")
  const found = yield* Effect.filter(tables, ({ name }) =>
    Effect.map(
      sql`SELECT 1 FROM ${sql(name)} AS t WHERE t::text LIKE ${`%${text}%`} OR t::text LIKE ${`%${hex}%`} LIMIT 1`,
      (rows) => rows.length > 0
    )
  )
  return found.map(({ name }) => name)
}, Effect.orDie)
