/** Writes the generated schemas: `schema/openapi.json` and `schema/schema.graphql`. */
import { writeFileSync } from "node:fs"
import { OpenApi } from "effect/http-api"
import { printGraphQlSchema } from "../src/graphql/Schema.ts"
import { Api } from "../src/rest/Api.ts"

const write = (name: string, content: string) => writeFileSync(new URL(`../schema/${name}`, import.meta.url), content)

write("openapi.json", `${JSON.stringify(OpenApi.fromApi(Api), null, 2)}\n`)
write("schema.graphql", printGraphQlSchema())
