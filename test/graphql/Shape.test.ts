import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import fc from "fast-check"
import { camelCase, pathFromWire, shapeOf, toWire } from "../../src/graphql/Shape.ts"

const Inner = Schema.Struct({ inner_name: Schema.optionalKey(Schema.String) }).annotate({ identifier: "Inner" })
const Outer = Schema.Struct({
  outer_name: Schema.optionalKey(Schema.Int),
  json_map: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  many_inners: Schema.optionalKey(Schema.Array(Inner))
}).annotate({ identifier: "Outer" })
const outer = shapeOf(Outer)

describe("Shape", () => {
  it("spells the wire's names in camelCase", () => {
    assert.deepStrictEqual(["query", "top_k", "max_tool_calls", "is_active", "sha_256"].map(camelCase), [
      "query",
      "topK",
      "maxToolCalls",
      "isActive",
      "sha256"
    ])
  })

  it("renames fields at every level and leaves JSON maps as they are, for any map", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (jsonMap, innerName) => {
        assert.deepStrictEqual(toWire(outer, { outerName: 1, jsonMap, manyInners: [{ innerName }, {}] }), {
          outer_name: 1,
          json_map: jsonMap,
          many_inners: [{ inner_name: innerName }, {}]
        })
      })
    )
  })

  it("takes null for a field as absent, and leaves out what is no field", () => {
    assert.deepStrictEqual(toWire(outer, { outerName: null, constructor: 1, outer_name: 2 }), {})
    assert.deepStrictEqual(toWire(outer, JSON.parse(`{"__proto__": {"outerName": 1}}`)), {})
  })

  it("hands on what has another shape, for the schema to refuse", () => {
    for (const value of ["text", 5, null, [1]]) assert.deepStrictEqual(toWire(outer, value), value)
    assert.deepStrictEqual(toWire(outer, { manyInners: "text" }), { many_inners: "text" })
  })

  it("spells paths in camelCase as far as they name fields", () => {
    assert.strictEqual(pathFromWire(outer, "many_inners.3.inner_name"), "manyInners.3.innerName")
    assert.strictEqual(pathFromWire(outer, "json_map.snake_case"), "jsonMap.snake_case")
    assert.strictEqual(pathFromWire(outer, "required"), "required")
    assert.strictEqual(pathFromWire(outer, ""), "")
  })

  it("finds the GraphQL type of a schema", () => {
    const typeOf = (schema: Schema.Top) => {
      const shape = shapeOf(schema)
      return shape.kind === "list" ? "list" : shape.name
    }
    assert.strictEqual(typeOf(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 }))), "Int")
    assert.strictEqual(typeOf(Schema.Finite), "Float")
    assert.strictEqual(typeOf(Schema.Boolean), "Boolean")
    assert.strictEqual(typeOf(Schema.Literal("text")), "String")
    assert.strictEqual(typeOf(Schema.Literals(["a", "b"])), "String")
    assert.strictEqual(typeOf(Schema.Literals(["a", "b"]).annotate({ identifier: "Letter" })), "Letter")
    assert.strictEqual(typeOf(Schema.Union([Schema.String, Schema.Int])), "JSON")
    assert.strictEqual(typeOf(Schema.Unknown), "JSON")
    assert.strictEqual(typeOf(Schema.Array(Schema.Int)), "list")
  })

  it("asks for a name where GraphQL needs one", () => {
    assert.throws(() => shapeOf(Schema.Struct({ a: Schema.String, b: Schema.Int })), /identifier.*a, b/)
  })
})
