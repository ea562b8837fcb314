import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { lint } from "./Lint.ts"

/** Of `src`, a folder imports itself and these. */
const folders: Readonly<Record<string, ReadonlyArray<string>>> = {
  domain: [],
  store: ["domain"],
  providers: ["domain"],
  accounts: ["store", "providers", "domain"],
  knowledge: ["store", "providers", "domain"],
  agents: ["knowledge", "store", "providers", "domain"],
  workflows: ["agents", "knowledge", "store", "providers", "domain"],
  operations: ["workflows", "agents", "knowledge", "accounts", "store", "providers", "domain"],
  rest: ["operations", "domain"],
  graphql: ["operations", "domain"],
  cli: ["domain"]
}

/** The modules directly in `src`: the composition, which imports every folder, and the client, which imports the contract. */
const roots: Readonly<Record<string, ReadonlyArray<string>>> = {
  "Server.ts": Object.keys(folders),
  "main.ts": Object.keys(folders),
  "Logging.ts": Object.keys(folders),
  "Welcome.ts": Object.keys(folders),
  "testing.ts": Object.keys(folders),
  "client.ts": ["rest", "domain"]
}

/** Packages and the only folder (and root modules) that imports them. */
const packages: ReadonlyArray<{ readonly owners: ReadonlyArray<string>; readonly modules: ReadonlyArray<string> }> = [
  {
    owners: ["store"],
    modules: [
      "effect/sql",
      "effect/sql/SqlClient",
      "@effect/sql-pg",
      "@effect/sql-pg/PgClient",
      "@electric-sql/pglite",
      "@electric-sql/pglite/worker",
      "@electric-sql/pglite-pgvector",
      "@neondatabase/serverless",
      "node:sqlite"
    ]
  },
  {
    owners: ["providers"],
    modules: ["openai", "openai/resources/chat", "@anthropic-ai/sdk", "@anthropic-ai/sdk/client"]
  },
  { owners: ["rest", "client.ts"], modules: ["effect/http-api", "effect/http-api/HttpApi"] },
  {
    owners: ["graphql"],
    modules: [
      "graphql",
      "graphql/utilities",
      "@pothos/core",
      "@pothos/plugin-errors",
      "graphql-yoga",
      "graphql-ws",
      "graphql-ws/use/ws",
      "@graphql-yoga/render-graphiql",
      "@escape.tech/graphql-armor"
    ]
  }
]

/** Every way in which a module can name another one that the rules are to see. One statement a line. */
const forms = (specifier: string) => [
  `import { a } from "${specifier}"`,
  `import * as b from "${specifier}"`,
  `import type { C } from "${specifier}"`,
  `import { type D } from "${specifier}"`,
  `import "${specifier}"`,
  `export { e } from "${specifier}"`,
  `export type { F } from "${specifier}"`,
  `export * from "${specifier}"`,
  `export const g = await import("${specifier}")`,
  `export const h = () => import("${specifier}").then((module) => module)`
]

interface Importer {
  /** Its path in `src`. */
  readonly path: string
  readonly allowed: ReadonlyArray<string>
  readonly refused: ReadonlyArray<string>
}

/** A module with, once for each rule, the names of the modules that it may import and that it may not. */
const importer = (path: string, owner: string, mayImport: ReadonlyArray<string>): Importer => {
  const up = "../".repeat(path.split("/").length - 1)
  const ours = Object.keys(folders).filter((folder) => folder !== owner)
  const at = (folder: string) => `${up || "./"}${folder}/Noun.ts`
  const foreign = packages.filter(({ owners }) => !owners.includes(owner)).flatMap(({ modules }) => modules)
  const own = packages.filter(({ owners }) => owners.includes(owner)).flatMap(({ modules }) => modules)
  return {
    path,
    allowed: [
      ...ours.filter((folder) => mayImport.includes(folder)).flatMap((folder) => [at(folder), at(`${folder}/deep`)]),
      ...own,
      ...(owner === "domain" || owner === "client.ts" ? [] : [`${up}../package.json`]),
      ...["./Neighbour.ts", "effect", "effect/http", "effect/Schema", "graphiql", "openair"].filter(
        (name) => owner !== "client.ts" || name !== "./Neighbour.ts"
      )
    ],
    refused: [
      ...ours.filter((folder) => !mayImport.includes(folder)).flatMap((folder) => [at(folder), at(`${folder}/deep`)]),
      ...(up === "" ? [] : Object.keys(roots).map((module) => up + module)),
      ...foreign,
      `${up}../test/support/Noun.ts`,
      // Ways round: down and up again, out of `src` and in again.
      `./deep/../Noun.ts`,
      ...ours
        .filter((folder) => !mayImport.includes(folder))
        .map((folder) => `${up || "./"}domain/../${folder}/Noun.ts`),
      ...ours.filter((folder) => !mayImport.includes(folder)).map((folder) => `${up}../src/${folder}/Noun.ts`)
    ]
  }
}

const importers: ReadonlyArray<Importer> = [
  ...Object.entries(folders).flatMap(([folder, mayImport]) => [
    importer(`${folder}/Importer.ts`, folder, mayImport),
    importer(`${folder}/deep/Importer.ts`, folder, mayImport)
  ]),
  ...Object.entries(roots).map(([module, mayImport]) => importer(module, module, mayImport))
]

/** Names each module once, in forms that take turns: the linter is slow on what nobody writes, thousands of imports. */
const statements = (modules: ReadonlyArray<string>) =>
  modules.flatMap((module, index) => {
    const all = forms(module)
    return all.filter((_, form) => form === index % all.length)
  })

const boundaryRules = new Set(["lint/style/noRestrictedImports", "plugin"])

/** Lints sources, given by their path in `src`, and returns the statements (a line each) that dependency rules refuse. */
const refusedOf = async (sources: Readonly<Record<string, ReadonlyArray<string>>>) => {
  const files = Object.fromEntries(Object.entries(sources).map(([path, lines]) => [`src/${path}`, lines.join("\n")]))
  const refusals = (await lint(files, ["plugin", "style/noRestrictedImports"])).filter(({ rule }) =>
    boundaryRules.has(rule)
  )
  return (path: string) => {
    const lines = new Set(refusals.filter((refusal) => refusal.path === `src/${path}`).map(({ line }) => line))
    return (sources[path] ?? []).filter((_, index) => lines.has(index + 1))
  }
}

describe("the dependency rules", () => {
  let refused: (path: string) => ReadonlyArray<string>

  beforeAll(async () => {
    const sources = importers.map(
      ({ path, allowed, refused }) => [path, [...statements(allowed), ...statements(refused)]] as const
    )
    refused = await refusedOf(Object.fromEntries(sources))
  })

  it.each(importers)("let src/$path import what its row says and refuse all else", (importer) => {
    assert.deepStrictEqual(refused(importer.path), statements(importer.refused))
  })

  it("see every form of import and export", async () => {
    const refusedModules = ["../rest/Noun.ts", "./deep/../Noun.ts", ...packages.map(({ modules }) => modules[0] ?? "")]
    const sources = [...forms("../domain/Noun.ts"), ...refusedModules.flatMap(forms)]
    const refused = await refusedOf({ "accounts/A.ts": sources })
    assert.deepStrictEqual(refused("accounts/A.ts"), refusedModules.flatMap(forms))
  })

  it("let rest and graphql import Authentication and nothing else of accounts", async () => {
    const authentication = ["../accounts/Authentication.ts"].flatMap(forms)
    const sources = [...authentication, ...["../accounts/Credits.ts"].flatMap(forms)]
    const refused = await refusedOf({ "rest/A.ts": sources, "graphql/A.ts": sources })
    assert.deepStrictEqual(refused("rest/A.ts"), ["../accounts/Credits.ts"].flatMap(forms))
    assert.deepStrictEqual(refused("graphql/A.ts"), ["../accounts/Credits.ts"].flatMap(forms))
  })

  it("let cli import where a local server keeps its data and nothing else of store", async () => {
    const directory = ["../store/DataDirectory.ts"].flatMap(forms)
    const database = ["../store/Database.ts"].flatMap(forms)
    const refused = await refusedOf({ "cli/A.ts": [...directory, ...database] })
    assert.deepStrictEqual(refused("cli/A.ts"), database)
  })

  it("keep domain pure", async () => {
    const modules = ["node:fs", "node:fs/promises", "@effect/platform-node", "@effect/platform-node/NodeHttpServer"]
    const refused = await refusedOf({ "domain/A.ts": modules.flatMap(forms) })
    assert.deepStrictEqual(refused("domain/A.ts"), modules.flatMap(forms))
  })

  it("refuse the forms that they cannot read", async () => {
    const hidden = [
      'export type A = import("../rest/Noun.ts").A',
      'export type B = typeof import("openai")',
      "export const c = await import(`../rest/Noun.ts`)",
      'export const d = await import("../rest/" + name)',
      "export const e = await import(name)"
    ]
    const readable = ["await import('./Noun.ts')", 'await import("./a.json", { with: { type: "json" } })']
    const refused = await refusedOf({ "accounts/A.ts": [...hidden, ...readable] })
    assert.deepStrictEqual(refused("accounts/A.ts"), hidden)
  })

  it("refuse everything to a folder that has no row", async () => {
    const modules = ["../domain/Noun.ts", "../store/Noun.ts"]
    const refused = await refusedOf({ "billing/A.ts": modules.flatMap(forms) })
    assert.deepStrictEqual(refused("billing/A.ts"), modules.flatMap(forms))
  })

  it("have a row for everything in src", () => {
    const entries = readdirSync(join(import.meta.dirname, "../../src"))
    const known = [...Object.keys(folders), ...Object.keys(roots)]
    assert.deepStrictEqual(
      entries.filter((entry) => !known.includes(entry)),
      []
    )
  })
})
