import type { InputType, InputTypeParam, ObjectRef, OutputType } from "@pothos/core"
import { Predicate, type Schema } from "effect"
import { builder } from "./Builder.ts"
import { type Field, type Shape, shapeOf } from "./Shape.ts"

/**
 * GraphQL types made from the Effect schemas of `domain`, once each. A field that is added there appears in REST and
 * here at the same time.
 */

type Types = typeof builder.$inferSchemaTypes
type Output = OutputType<Types>
type Input = InputType<Types>
type ObjectShape = Extract<Shape, { readonly kind: "object" }>
type EnumShape = Extract<Shape, { readonly kind: "enum" }>

const memoized = <Key extends object, Value>(make: (key: Key) => Value): ((key: Key) => Value) => {
  const made = new WeakMap<Key, Value>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = make(key)
    made.set(key, value)
    return value
  }
}

const described = (description: string | undefined) => (description === undefined ? {} : { description })

const enumType = memoized(({ description, name, values }: EnumShape) =>
  builder.enumType(name, { description, values: Object.fromEntries(values.map((value) => [value, { value }])) })
)

const objectType = memoized((shape: ObjectShape): ObjectRef<Types, unknown> => {
  const ref = builder.objectRef<unknown>(shape.name)
  builder.objectType(ref, {
    description: shape.description,
    fields: (t) => {
      const typeOf = (of: Shape): Output => {
        if (of.kind === "list") return t.listRef(typeOf(of.item))
        if (of.kind === "scalar") return of.name
        return of.kind === "enum" ? enumType(of) : objectType(of)
      }
      const fieldOf = ({ description, optional, shape, wireName }: Field) =>
        t.field({
          // Which of the kinds of types it is decides nothing about a field that only hands on its value.
          type: typeOf(shape) as ObjectRef<Types, unknown>,
          nullable: optional,
          ...described(description),
          resolve: (parent) => (Predicate.hasProperty(parent, wireName) ? parent[wireName] : undefined)
        })
      return Object.fromEntries(shape.fields.map((field) => [field.name, fieldOf(field)]))
    }
  })
  return ref
})

/** `GenerateRequest` is `GenerateInput` here, `Document` is `DocumentInput`. */
const inputName = ({ name }: ObjectShape): string => `${name.replace(/Request$/, "")}Input`

const inputParam = (shape: Shape): InputTypeParam<Types> => {
  if (shape.kind === "list") return [inputParam(shape.item) as Input]
  if (shape.kind === "scalar") return shape.name
  return shape.kind === "enum" ? enumType(shape) : inputObjectType(shape)
}

const inputField = ({ description, optional, shape }: Field) => ({
  type: inputParam(shape),
  required: !optional,
  ...described(description)
})

const inputObjectType = memoized(
  (shape: ObjectShape): Input =>
    builder.inputType(inputName(shape), {
      description: shape.description,
      fields: (t) => Object.fromEntries(shape.fields.map((field) => [field.name, t.field(inputField(field))]))
    })
)

const objectShapeOf = (schema: Schema.Top): ObjectShape => {
  const shape = shapeOf(schema)
  if (shape.kind !== "object") throw new Error("Arguments and answers of GraphQL fields are objects")
  return shape
}

/** The type of what an operation answers; resolvers must answer what the schema describes. */
export const outputType = <Output>(schema: Schema.Codec<Output, unknown>) =>
  objectType(objectShapeOf(schema)) as ObjectRef<Types, Output>

/** The one argument `input` of a mutation. */
export const inputArgument = (schema: Schema.Top) =>
  builder.args((t) => ({ input: t.field({ type: inputObjectType(objectShapeOf(schema)), required: true }) }))

/** The arguments of a mutation that costs credits: `input`, and a key under which it runs once. */
export const paidArguments = (schema: Schema.Top) =>
  builder.args((t) => ({
    input: t.field({ type: inputObjectType(objectShapeOf(schema)), required: true }),
    idempotencyKey: t.string({
      description:
        "Runs the call once: the same key with the same input is answered alike for 24 hours, free of charge."
    })
  }))

/** The fields of a request as the plain arguments of a query. */
export const plainArguments = (schema: Schema.Top) =>
  builder.args((t) =>
    Object.fromEntries(objectShapeOf(schema).fields.map((field) => [field.name, t.field(inputField(field))]))
  )
