import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { assertValidSchema, buildSchema, printSchema } from "graphql"
import { printGraphQlSchema, schema } from "../../src/graphql/Schema.ts"

describe("The GraphQL schema", () => {
  it("is valid, and what is printed can be read back", () => {
    assertValidSchema(schema)
    assert.strictEqual(`${printSchema(buildSchema(printGraphQlSchema()))}\n`, printGraphQlSchema())
  })

  it("stands in schema/schema.graphql as it is", () => {
    const committed = readFileSync(new URL("../../schema/schema.graphql", import.meta.url), "utf8")
    assert.strictEqual(committed, printGraphQlSchema(), "Run `npm run build:schema`.")
  })

  it("describes every operation and every argument", () => {
    for (const type of [schema.getQueryType()!, schema.getMutationType()!]) {
      for (const field of Object.values(type.getFields())) {
        assert.isNotEmpty(field.description, field.name)
        for (const arg of field.args) if (arg.name !== "input") assert.isNotEmpty(arg.description, arg.name)
      }
    }
  })
})
