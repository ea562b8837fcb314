import SchemaBuilder from "@pothos/core"
import type { GraphQlContext } from "./Bridge.ts"

export interface BuilderTypes {
  readonly Context: GraphQlContext
  readonly DefaultFieldNullability: false
  readonly Scalars: { readonly JSON: { readonly Input: unknown; readonly Output: unknown } }
}

/** Collects what the files of the nouns define; it defines no types itself. */
export const builder = new SchemaBuilder<BuilderTypes>({ defaultFieldNullability: false })
