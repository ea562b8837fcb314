import { lexicographicSortSchema, printSchema } from "graphql"
import { builder } from "./Builder.ts"
import "./Collection.ts"
import "./Credits.ts"
import "./Embedding.ts"
import "./Generation.ts"
import "./Json.ts"
import "./Key.ts"
import "./Organization.ts"
import "./Status.ts"

builder.queryType({})
builder.mutationType({})

export const schema = builder.toSchema()

/** The schema in GraphQL's own language, in an order that depends on names only. */
export const printGraphQlSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`
