import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Reactivity } from "effect/reactivity"
import { createTestDatabase } from "../support/Database.ts"
import { type ServerProcess, startServer } from "../support/Process.ts"

const graphql = async (server: ServerProcess, key: string, query: string) => {
  const response = await fetch(`${server.url}/graphql`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ query })
  })
  return response.json()
}

const statusAt = async ({ url }: ServerProcess, key: string): Promise<number> =>
  (await fetch(`${url}/v1/`, { headers: { authorization: `Bearer ${key}` } })).status

/** Milliseconds until a process refuses a key that is used all the time; 10,000 at most. */
const refusedAfterMs = async (server: ServerProcess, key: string): Promise<number> => {
  const began = performance.now()
  while ((await statusAt(server, key)) !== 401 && performance.now() - began < 10_000) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return performance.now() - began
}

const newKey = async (server: ServerProcess, key: string, scope: string) => {
  const input = `{ name: "key", scopes: [${scope}] }`
  const { data } = await graphql(server, key, `mutation { createApiKey(input: ${input}) { secret apiKey { id } } }`)
  return { secret: data.createApiKey.secret as string, id: data.createApiKey.apiKey.id as string }
}

/** Two gateways of one installation, for the time of the run. */
const withTwoServers = (run: (a: ServerProcess, b: ServerProcess) => Promise<void>) =>
  Effect.gen(function* () {
    const url = yield* createTestDatabase
    const env = {
      DATABASE_URL: url.href,
      SLUICE_SECRET: "one-secret-for-both-processes",
      SLUICE_BOOTSTRAP_KEY: "key-of-the-installation",
      SLUICE_LIMIT_PER_MINUTE: "100000"
    }
    yield* Effect.promise(async () => {
      await using a = await startServer({ env })
      await using b = await startServer({ env })
      await run(a, b)
    })
  }).pipe(Effect.provide(Reactivity.layer))

describe("Keys in two processes on one database", () => {
  it.live(
    "work at once where they were not made, and stop within 5 seconds of being revoked there",
    () =>
      withTwoServers(async (a, b) => {
        const { id, secret } = await newKey(a, a.apiKey, "invoke")
        assert.deepStrictEqual([await statusAt(b, secret), await statusAt(a, secret)], [200, 200])
        await graphql(a, a.apiKey, `mutation { revokeApiKey(input: { id: "${id}" }) { status } }`)
        const [inA, inB] = await Promise.all([refusedAfterMs(a, secret), refusedAfterMs(b, secret)])
        assert.isBelow(inA, 5000)
        assert.isBelow(inB, 5000)
      }),
    60_000
  )

  it.live(
    "never leave an organization without one that manages it, when all revoke themselves at once",
    () =>
      withTwoServers(async (a, b) => {
        const made = await graphql(
          a,
          a.apiKey,
          `mutation { createOrganization(input: { name: "Acme" }) { id secret apiKey { id } } }`
        )
        const first = made.data.createOrganization
        const keys = [{ id: first.apiKey.id as string, secret: first.secret as string }]
        for (let i = 0; i < 5; i++) keys.push(await newKey(a, first.secret, "admin"))
        const answers = await Promise.all(
          keys.map(({ id, secret }, i) =>
            graphql(i % 2 === 0 ? a : b, secret, `mutation { revokeApiKey(input: { id: "${id}" }) { status } }`)
          )
        )
        const codes = answers.flatMap(({ errors }) => (errors === undefined ? [] : [errors[0].extensions.code]))
        assert.deepStrictEqual(codes, ["last_admin_key"])
      }),
    60_000
  )
})
