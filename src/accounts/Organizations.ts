import { randomUUID } from "node:crypto"
import { Config, Context, Effect, Layer, Option, Schema } from "effect"
import type { Scope } from "../domain/Account.ts"
import { OperationId, OrganizationId } from "../domain/Ids.ts"
import type { RateLimits } from "../domain/RateLimit.ts"
import { fromCredits } from "../domain/Tariff.ts"
import { KeyRefused, KeyStore } from "../store/KeyStore.ts"
import { OrganizationRefused, OrganizationStore } from "../store/OrganizationStore.ts"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"
import * as ApiKey from "./ApiKey.ts"
import { type Caller, Forbidden } from "./Authentication.ts"
import { installationLimits } from "./Credits.ts"
import { InstallationSecret } from "./InstallationSecret.ts"
import type { NewKey } from "./Keys.ts"

const Grant = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

/** What a new organization gets when nobody says otherwise (`SLUICE_CREDITS`), in micro-credits. */
export const startingMicro = Config.map(
  Config.schema(Grant, "SLUICE_CREDITS").pipe(Config.withDefault(1000)),
  fromCredits
)

const FIRST_KEY_NAME = "first key"
const FIRST_KEY_SCOPES: ReadonlyArray<Scope> = ["invoke", "manage", "admin"]

export interface NewTenant extends NewKey {
  readonly id: OrganizationId
  readonly name: string
}

type By = Caller["Service"]

/** What operators do with organizations. Whoever calls these methods has the scope that the operation needs. */
export class Organizations extends Context.Service<
  Organizations,
  {
    /** The organization that a call is about: the caller's own, or for operators any that there is. */
    target(
      caller: By,
      requested: string | undefined
    ): Effect.Effect<OrganizationId, Forbidden | OrganizationRefused | StoreUnavailable>
    /** Makes an organization with credits and a first key that can do everything within it. */
    create(
      caller: By,
      organization: {
        readonly id: string | undefined
        readonly name: string
        readonly credits: number | undefined
      }
    ): Effect.Effect<NewTenant, KeyRefused | OrganizationRefused | StoreUnavailable>
    /** Adds credits to a pool, once for each `grantId`: the same again adds nothing. */
    grant(
      organization: OrganizationId,
      grantId: string,
      credits: number
    ): Effect.Effect<void, OrganizationRefused | StoreUnavailable>
    /** Sets the rate limits, where none is given to those of the installation, and answers what counts from now on. */
    setLimits(
      organization: OrganizationId,
      limits: { readonly perMinute: number | undefined; readonly perDay: number | undefined }
    ): Effect.Effect<RateLimits, OrganizationRefused | StoreUnavailable>
  }
>()("sluice/accounts/Organizations") {
  static readonly layer = Layer.effect(
    Organizations,
    Effect.gen(function* () {
      const store = yield* OrganizationStore
      const keys = yield* KeyStore
      const issue = ApiKey.issue(yield* InstallationSecret)
      const defaultMicro = yield* startingMicro
      const defaults = yield* installationLimits

      const target = Effect.fn("Organizations.target")(function* (caller: By, requested: string | undefined) {
        if (requested === undefined || requested === caller.organizationId) return caller.organizationId
        if (!caller.scopes.has("operator")) return yield* new Forbidden({ required: "operator" })
        const id = OrganizationId.make(requested)
        return (yield* store.exists(id)) ? id : yield* new OrganizationRefused({ reason: "not_found" })
      })

      const create = Effect.fn("Organizations.create")(function* (
        caller: By,
        { credits, id: requested, name }: Parameters<Organizations["Service"]["create"]>[1]
      ) {
        // A key that was revoked a moment ago may still be cached; it must not leave another key behind.
        if (Option.isNone(yield* keys.find(caller.keyId))) return yield* new KeyRefused({ reason: "actor_ended" })
        const id = OrganizationId.make(requested ?? `org_${randomUUID().replaceAll("-", "")}`)
        const { record, secret } = issue()
        const created = yield* store.create({
          id,
          name,
          grantedMicro: credits === undefined ? defaultMicro : fromCredits(credits),
          key: { ...record, name: FIRST_KEY_NAME, scopes: FIRST_KEY_SCOPES }
        })
        if (!created) return yield* new OrganizationRefused({ reason: "exists" })
        return { id, name, secret, key: Option.getOrThrow(yield* keys.details(record.id)) }
      })

      const grant = Effect.fn("Organizations.grant")(function* (
        organization: OrganizationId,
        grantId: string,
        credits: number
      ) {
        const operationId = OperationId.make(`grant/${organization}/${grantId}`)
        yield* store.grant(organization, operationId, fromCredits(credits))
      })

      const setLimits = Effect.fn("Organizations.setLimits")(function* (
        organization: OrganizationId,
        { perDay, perMinute }: Parameters<Organizations["Service"]["setLimits"]>[1]
      ) {
        yield* store.setLimits(organization, { perMinute: perMinute ?? null, perDay: perDay ?? null })
        return { perMinute: perMinute ?? defaults.perMinute, perDay: perDay ?? defaults.perDay }
      })

      return Organizations.of({ target, create, grant, setLimits })
    })
  )
}
