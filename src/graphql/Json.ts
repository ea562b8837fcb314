import { builder } from "./Builder.ts"

builder.scalarType("JSON", {
  description: "A JSON value without a fixed shape.",
  serialize: (value) => value
})
