import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { IndexRequest, IndexResult, SearchRequest, SearchResults } from "../domain/Collection.ts"
import { success } from "./Envelope.ts"

export class CollectionApi extends HttpApiGroup.make("collection", { topLevel: true })
  .add(
    HttpApiEndpoint.post("index", "/v1/index", {
      payload: IndexRequest,
      success: success(IndexResult)
    }).annotateMerge(
      OpenApi.annotations({ summary: "Index documents", description: "0.5 credits per document; all or nothing." })
    ),
    HttpApiEndpoint.post("search", "/v1/search", {
      payload: SearchRequest,
      success: success(SearchResults)
    }).annotateMerge(OpenApi.annotations({ summary: "Search a collection", description: "0.5 credits per request." }))
  )
  .annotateMerge(OpenApi.annotations({ title: "Collections" })) {}
