import { Predicate, type Schema, SchemaAST } from "effect"

/**
 * What GraphQL needs to know of an Effect schema. The schemas of `domain` are the one source of field names, types,
 * bounds and descriptions; GraphQL shows the same fields under camelCase names.
 */
export type Shape =
  | {
      readonly kind: "object"
      readonly name: string
      readonly description: string
      readonly fields: ReadonlyArray<Field>
    }
  | { readonly kind: "list"; readonly item: Shape }
  | {
      readonly kind: "enum"
      readonly name: string
      readonly description: string
      readonly values: ReadonlyArray<string>
    }
  | { readonly kind: "scalar"; readonly name: "Boolean" | "Float" | "Int" | "JSON" | "String" }

export interface Field {
  readonly name: string
  /** The name that REST and the operations use. */
  readonly wireName: string
  readonly description: string | undefined
  readonly optional: boolean
  readonly shape: Shape
}

/** `max_tokens` as `maxTokens`. */
export const camelCase = (wireName: string): string =>
  wireName.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

const isInteger = ({ checks }: SchemaAST.AST): boolean =>
  checks?.some(({ annotations }) => {
    const representation = annotations?.["representation"]
    return Predicate.hasProperty(representation, "id") && representation.id === "effect/schema/isInt"
  }) === true

const fieldOf = ({ name, type }: SchemaAST.PropertySignature): Field => ({
  name: camelCase(String(name)),
  wireName: String(name),
  description: SchemaAST.resolveDescription(type),
  optional: SchemaAST.isOptional(type),
  shape: shapeOfAst(type)
})

/** One shape for each name: the same union is another AST where a field is optional. */
const enums = new Map<string, Shape>()

/** A union of string literals is an enum when it has a name. Other unions have no counterpart in GraphQL. */
const unionOf = (ast: SchemaAST.Union): Shape => {
  const values = ast.types.flatMap((type) =>
    SchemaAST.isLiteral(type) && Predicate.isString(type.literal) ? [type.literal] : []
  )
  if (values.length < ast.types.length) return { kind: "scalar", name: "JSON" }
  const name = SchemaAST.resolveIdentifier(ast)
  if (name === undefined) return { kind: "scalar", name: "String" }
  const shape = enums.get(name) ?? { kind: "enum", name, description: SchemaAST.resolveDescription(ast) ?? "", values }
  enums.set(name, shape)
  return shape
}

const objectOf = (ast: SchemaAST.Objects): Shape => {
  if (ast.propertySignatures.length === 0) return { kind: "scalar", name: "JSON" }
  const name = SchemaAST.resolveIdentifier(ast)
  if (name === undefined) {
    const fields = ast.propertySignatures.map((property) => String(property.name))
    throw new Error(`GraphQL needs an identifier for the schema with the fields ${fields.join(", ")}`)
  }
  return {
    kind: "object",
    name,
    description: SchemaAST.resolveDescription(ast) ?? "",
    fields: ast.propertySignatures.map(fieldOf)
  }
}

const shapes = new WeakMap<SchemaAST.AST, Shape>()

const makeShape = (ast: SchemaAST.AST): Shape => {
  switch (ast._tag) {
    case "Objects":
      return objectOf(ast)
    case "Arrays":
      return { kind: "list", item: shapeOfAst(ast.rest[0]!) }
    case "Union":
      return unionOf(ast)
    case "Number":
      return { kind: "scalar", name: isInteger(ast) ? "Int" : "Float" }
    case "Boolean":
      return { kind: "scalar", name: "Boolean" }
    case "String":
    case "Literal":
      return { kind: "scalar", name: "String" }
    default:
      return { kind: "scalar", name: "JSON" }
  }
}

const shapeOfAst = (ast: SchemaAST.AST): Shape => {
  const known = shapes.get(ast)
  if (known !== undefined) return known
  const shape = makeShape(ast)
  shapes.set(ast, shape)
  return shape
}

export const shapeOf = (schema: Schema.Top): Shape => shapeOfAst(schema.ast)

/**
 * GraphQL arguments as the wire has them: camelCase names become snake_case where the shape has a field of that name,
 * keys of JSON maps stay, and null for a field is as if it were absent.
 */
export const toWire = (shape: Shape, value: unknown): unknown => {
  if (shape.kind === "list" && Array.isArray(value)) return value.map((item) => toWire(shape.item, item))
  if (shape.kind !== "object" || !Predicate.isObject(value)) return value
  const given = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    shape.fields
      .filter(({ name }) => Object.hasOwn(given, name) && given[name] !== null && given[name] !== undefined)
      .map((field) => [field.wireName, toWire(field.shape, given[field.name])])
  )
}

/** The path of an error's detail (`options.max_tokens`) in GraphQL's names. What is no field of the shape stays. */
export const pathFromWire = (shape: Shape, path: string): string => {
  let current: Shape | undefined = shape
  return path
    .split(".")
    .map((segment) => {
      const within: Shape | undefined = current
      if (within?.kind === "list") {
        current = within.item
        return segment
      }
      const field: Field | undefined =
        within?.kind === "object" ? within.fields.find(({ wireName }) => wireName === segment) : undefined
      current = field?.shape
      return field?.name ?? segment
    })
    .join(".")
}
