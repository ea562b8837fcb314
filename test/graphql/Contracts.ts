import { OpenApi } from "effect/http-api"
import {
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType
} from "graphql"
import { schema } from "../../src/graphql/Schema.ts"
import { Api } from "../../src/rest/Api.ts"

/**
 * Both contracts in one form. The REST side is read from the OpenAPI document, the GraphQL side from the built schema:
 * neither is read from what made the other.
 */

export type Type =
  | "boolean"
  | "float"
  | "int"
  | "json"
  | "string"
  | { readonly list: Type }
  | { readonly enum: ReadonlyArray<string> }
  | { readonly fields: Fields }

export type Fields = { readonly [name: string]: { readonly required: boolean; readonly type: Type } }

export interface Contract {
  readonly input: Fields
  readonly output: Fields
}

/** Names are compared in GraphQL's spelling; written apart from `src`, so that both would have to err alike. */
export const inCamelCase = (name: string): string =>
  name
    .split("_")
    .map((word, i) => (i === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join("")

interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly items?: JsonSchema
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly required?: ReadonlyArray<string>
}

interface Endpoint {
  readonly operationId: string
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: JsonSchema } } }
  readonly responses: {
    readonly 200: { readonly content: { readonly "application/json": { readonly schema: JsonSchema } } }
  }
}

const openApi = OpenApi.fromApi(Api) as unknown as {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Endpoint } }
  readonly components: { readonly schemas: { readonly [name: string]: JsonSchema } }
}

const resolved = (json: JsonSchema): JsonSchema =>
  json.$ref === undefined ? json : resolved(openApi.components.schemas[json.$ref.replace("#/components/schemas/", "")]!)

const fieldsOfJson = ({ properties = {}, required = [] }: JsonSchema): Fields =>
  Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      inCamelCase(name),
      { required: required.includes(name), type: typeOfJson(property) }
    ])
  )

const typeOfJson = (reference: JsonSchema): Type => {
  const json = resolved(reference)
  if (json.type === "array") return { list: typeOfJson(json.items!) }
  if (json.type === "object" && json.properties !== undefined) return { fields: fieldsOfJson(json) }
  if (json.enum !== undefined && json.enum.length > 1) return { enum: json.enum.map(String).sort() }
  const scalars: Record<string, Type> = { boolean: "boolean", integer: "int", number: "float", string: "string" }
  return scalars[json.type ?? ""] ?? "json"
}

const endpoints = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  Object.values(methods).map((endpoint) => ({ path, ...endpoint }))
)

/** The address of every REST operation, by its name. */
export const restPaths: Readonly<Record<string, string>> = Object.fromEntries(
  endpoints.map(({ operationId, path }) => [operationId, path])
)

export const restContracts: Readonly<Record<string, Contract>> = Object.fromEntries(
  endpoints.map(({ operationId, requestBody, responses }) => {
    const answer = resolved(responses[200].content["application/json"].schema)
    const body = requestBody?.content["application/json"].schema
    return [
      operationId,
      {
        input: body === undefined ? {} : fieldsOfJson(resolved(body)),
        output: fieldsOfJson(resolved(answer.properties?.["data"] ?? answer))
      }
    ]
  })
)

const typeOfGraphQl = (type: GraphQLInputType | GraphQLOutputType): Type => {
  if (isNonNullType(type)) return typeOfGraphQl(type.ofType)
  if (isListType(type)) return { list: typeOfGraphQl(type.ofType) }
  if (isEnumType(type))
    return {
      enum: type
        .getValues()
        .map(({ name }) => name)
        .sort()
    }
  if (isObjectType(type) || isInputObjectType(type)) return { fields: fieldsOfGraphQl(Object.values(type.getFields())) }
  return type.name.toLowerCase() as Type
}

const fieldsOfGraphQl = (
  fields: ReadonlyArray<{ readonly name: string; readonly type: GraphQLInputType | GraphQLOutputType }>
): Fields =>
  Object.fromEntries(
    fields.map(({ name, type }) => [name, { required: isNonNullType(type), type: typeOfGraphQl(type) }])
  )

interface RootField {
  readonly name: string
  readonly type: GraphQLOutputType
  readonly args: ReadonlyArray<{ readonly name: string; readonly type: GraphQLInputType }>
  readonly root: "mutation" | "query"
}

const rootFieldsOf = (root: RootField["root"], type: GraphQLObjectType): ReadonlyArray<RootField> =>
  Object.values(type.getFields()).map(({ args, name, type }) => ({ args, name, type, root }))

export const rootFields: ReadonlyArray<RootField> = [
  ...rootFieldsOf("query", schema.getQueryType()!),
  ...rootFieldsOf("mutation", schema.getMutationType()!)
]

/** The idempotency key is no part of the input: REST takes it as a header. */
const inputOf = ({ args }: RootField): Fields => {
  const input = getNamedType(args.find(({ name }) => name === "input")?.type)
  return fieldsOfGraphQl(isInputObjectType(input) ? Object.values(input.getFields()) : args)
}

export const graphQlContracts: Readonly<Record<string, Contract>> = Object.fromEntries(
  rootFields.map((field) => {
    const type = getNamedType(field.type)
    return [
      field.name,
      { input: inputOf(field), output: isObjectType(type) ? fieldsOfGraphQl(Object.values(type.getFields())) : {} }
    ]
  })
)

const selection = (fields: Fields): string =>
  Object.entries(fields)
    .map(([name, { type }]) => {
      const inner = typeof type === "object" && "list" in type ? type.list : type
      return typeof inner === "object" && "fields" in inner ? `${name} { ${selection(inner.fields)} }` : name
    })
    .join(" ")

/** A document that calls one operation with everything as variables, and selects all that it answers. */
export const documentOf = (operation: string): string => {
  const field = rootFields.find(({ name }) => name === operation)!
  const variables = field.args.map(({ name, type }) => `$${name}: ${type}`).join(", ")
  const args = field.args.map(({ name }) => `${name}: $${name}`).join(", ")
  const call = args === "" ? operation : `${operation}(${args})`
  const selected = selection(graphQlContracts[operation]!.output)
  return `${field.root}${variables === "" ? "" : `(${variables})`} { ${call} { ${selected} } }`
}

/** Renames the keys of what REST takes or answers; those of JSON maps stay. */
export const toGraphQlNames = (fields: Fields, value: unknown): unknown => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const type = fields[inCamelCase(name)]?.type
      return [inCamelCase(name), type === undefined ? inner : renamed(type, inner)]
    })
  )
}

const renamed = (type: Type, value: unknown): unknown => {
  if (typeof type !== "object" || "enum" in type) return value
  if ("fields" in type) return toGraphQlNames(type.fields, value)
  return Array.isArray(value) ? value.map((item) => renamed(type.list, item)) : value
}

/** The variables that carry a REST body to `documentOf(operation)`. */
export const variablesOf = (operation: string, body: unknown): Record<string, unknown> => {
  const input = toGraphQlNames(graphQlContracts[operation]!.input, body)
  const takesInput = rootFields.find(({ name }) => name === operation)!.root === "mutation"
  return takesInput ? { input } : (input as Record<string, unknown>)
}
