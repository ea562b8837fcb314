import { Config, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { ProviderError, ProviderNotConfigured } from "./ProviderError.ts"
import type { EmbeddingRow, Endpoint, GenerationRow, Vendor } from "./Vendor.ts"
import { vendors } from "./Vendors.ts"

/** The settings about vendors contradict each other or cannot be used. */
export class ProviderSettingsInvalid extends Schema.TaggedError<ProviderSettingsInvalid>()("ProviderSettingsInvalid", {
  message: Schema.String
}) {}

/** A vendor with what it takes to call it. */
export interface Deployment<Row> {
  readonly provider: string
  readonly endpoint: Endpoint
  readonly row: Row
}

/** What can be called here for one capability; `byProvider` is in the table's order. */
export interface Capability<Row> {
  readonly defaultProvider: string
  readonly byProvider: ReadonlyMap<string, Deployment<Row>>
}

/** The deployment of `provider`, or of the default provider when none is named. */
export const findDeployment = <Row>(
  { byProvider, defaultProvider }: Capability<Row>,
  provider: string = defaultProvider
): Effect.Effect<Deployment<Row>, ProviderError> => {
  const deployment = byProvider.get(provider)
  return deployment === undefined
    ? Effect.fail(
        new ProviderError({ provider, reason: new ProviderNotConfigured({ configured: [...byProvider.keys()] }) })
      )
    : Effect.succeed(deployment)
}

interface Configured {
  readonly vendor: Vendor
  readonly endpoint: Endpoint
}

/** A setting; one that is empty or blank counts as not set. */
const setting = (name: string) =>
  Config.option(Config.String(name)).pipe(
    Config.map(Option.map((value) => value.trim())),
    Config.map(Option.filter((value) => value !== ""))
  )

const invalid = (message: string) => new ProviderSettingsInvalid({ message })

const decodeBaseUrl = Effect.fnUntraced(function* ({ baseUrl, baseUrlVariable }: NonNullable<Vendor["access"]>) {
  const configured = Option.getOrElse(yield* setting(baseUrlVariable), () => baseUrl)
  const url = URL.parse(configured)
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.search !== "" || url.hash !== "") {
    return yield* invalid(`${baseUrlVariable} must be an http or https URL without a query.`)
  }
  return configured.replace(/\/+$/, "")
})

/** The vendor with its key, or nothing when the key is not set. */
const configure = Effect.fnUntraced(function* (vendor: Vendor) {
  const { access, id: provider } = vendor
  if (access === undefined) {
    return Option.some<Configured>({ vendor, endpoint: { provider, baseUrl: "", apiKey: Redacted.make("") } })
  }
  const baseUrl = yield* decodeBaseUrl(access)
  const key = yield* setting(access.keyVariable)
  if (Option.exists(key, (value) => !/^[\x21-\x7e]+$/.test(value))) {
    return yield* invalid(`${access.keyVariable} must be one word of printable ASCII characters.`)
  }
  return Option.map(
    key,
    (value): Configured => ({ vendor, endpoint: { provider, baseUrl, apiKey: Redacted.make(value) } })
  )
})

/** The provider that `variable` names if it is set, which must then be usable; otherwise the first that is configured. */
const decodeDefault = Effect.fnUntraced(function* (
  variable: string,
  able: ReadonlyArray<Vendor>,
  configured: ReadonlyArray<string>
) {
  const chosen = yield* setting(variable)
  if (Option.isNone(chosen)) return configured[0]!
  const vendor = able.find(({ id }) => id === chosen.value)
  if (vendor === undefined) {
    const expected = able.map(({ id }) => id).join(", ")
    return yield* invalid(`${variable} is ${JSON.stringify(chosen.value)}; expected one of ${expected}.`)
  }
  if (!configured.includes(vendor.id)) {
    return yield* invalid(`${variable} is "${vendor.id}", but ${vendor.access?.keyVariable} is not set.`)
  }
  return vendor.id
})

const decodeCapability = Effect.fnUntraced(function* <Row>(
  variable: string,
  table: ReadonlyArray<Vendor>,
  configured: ReadonlyArray<Configured>,
  rowOf: (vendor: Vendor) => Row | undefined
) {
  const deployments = configured.flatMap(({ endpoint, vendor }): Array<Deployment<Row>> => {
    const row = rowOf(vendor)
    return row === undefined ? [] : [{ provider: vendor.id, endpoint, row }]
  })
  const able = table.filter((vendor) => rowOf(vendor) !== undefined)
  const providers = deployments.map(({ provider }) => provider)
  const defaultProvider = yield* decodeDefault(variable, able, providers)
  return {
    defaultProvider,
    byProvider: new Map(deployments.map((deployment) => [deployment.provider, deployment]))
  } satisfies Capability<Row>
})

/** Reads the settings of the vendors in `table`, one of which must need no key. */
export const decodeDeployments = Effect.fnUntraced(function* (table: ReadonlyArray<Vendor>) {
  const configured = (yield* Effect.forEach(table, configure)).flatMap(Option.toArray)
  return {
    generation: yield* decodeCapability("SLUICE_DEFAULT_PROVIDER", table, configured, ({ generation }) => generation),
    embedding: yield* decodeCapability("SLUICE_EMBEDDING_PROVIDER", table, configured, ({ embedding }) => embedding)
  }
})

/** The vendors that this installation has keys for, and those that need none. */
export class Deployments extends Context.Service<
  Deployments,
  { readonly generation: Capability<GenerationRow>; readonly embedding: Capability<EmbeddingRow> }
>()("sluice/providers/Deployments") {
  static readonly layer = Layer.effect(Deployments, decodeDeployments(vendors))
  /** Only what needs no key, whatever the settings. */
  static readonly layerMemory = Layer.effect(
    Deployments,
    decodeDeployments(vendors.filter(({ access }) => access === undefined))
  )
}
