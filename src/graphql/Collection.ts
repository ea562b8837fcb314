import { IndexRequest, IndexResult, SearchRequest, SearchResults } from "../domain/Collection.ts"
import { index } from "../operations/Index.ts"
import { search } from "../operations/Search.ts"
import { builder } from "./Builder.ts"
import { call, callPaid } from "./Call.ts"
import { outputType, paidArguments, plainArguments } from "./DerivedTypes.ts"

builder.mutationField("index", (t) =>
  t.field({
    description: "Puts documents into a collection, all of them or none. 0.5 credits per document.",
    type: outputType(IndexResult),
    nullable: true,
    args: paidArguments(IndexRequest),
    resolve: (_, args, { run }) => run(callPaid(index, IndexRequest, args))
  })
)

builder.queryField("search", (t) =>
  t.field({
    description: "Finds the documents of a collection that match a query best. 0.5 credits per call.",
    type: outputType(SearchResults),
    nullable: true,
    args: plainArguments(SearchRequest),
    resolve: (_, args, { run }) => run(call(search, SearchRequest, args))
  })
)
