import { HttpApi } from "effect/http-api"
import { Api } from "./Api.ts"

/** Routes outside of the contract, all of them for reading but `/graphql`. */
const otherRoutes: ReadonlyArray<readonly [path: string, methods: ReadonlyArray<string>]> = [
  ["/docs", ["GET"]],
  ["/openapi.json", ["GET"]],
  ["/healthz", ["GET"]],
  ["/readyz", ["GET"]],
  ["/graphql", ["GET", "POST"]]
]

const withoutTrailingSlash = (path: string): string =>
  path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path

const methods = new Map(otherRoutes)
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    const path = withoutTrailingSlash(endpoint.path)
    methods.set(path, [...(methods.get(path) ?? []), endpoint.method])
  }
})

/** The methods that the address of `url` answers; none when there is no such address. */
export const allowedMethods = (url: string): ReadonlyArray<string> =>
  methods.get(withoutTrailingSlash(url.split(/[?#]/, 1)[0]!)) ?? []
