import { Context, Effect, Layer, Option, type Redacted } from "effect"
import { allows, type Scope } from "../domain/Account.ts"
import type { KeyId, OrganizationId } from "../domain/Ids.ts"
import { type KeyBounds, type KeyDetails, KeyRefused, KeyStore } from "../store/KeyStore.ts"
import type { StoreUnavailable } from "../store/StoreUnavailable.ts"
import * as ApiKey from "./ApiKey.ts"
import { type Caller, Forbidden } from "./Authentication.ts"
import { InstallationSecret } from "./InstallationSecret.ts"

/** A key just made; nobody can read its secret again. */
export interface NewKey {
  readonly secret: Redacted.Redacted<string>
  readonly key: KeyDetails
}

type By = Caller["Service"]
type Managed<A> = Effect.Effect<A, Forbidden | KeyRefused | StoreUnavailable>

/** Nobody makes a key that could do more than their own. */
const requireAll = (caller: By, scopes: ReadonlyArray<Scope>): Effect.Effect<void, Forbidden> => {
  const missing = scopes.find((scope) => !allows(caller.scopes, scope))
  return missing === undefined ? Effect.void : new Forbidden({ required: missing })
}

/** The keys of organizations. Whoever calls these methods has the scope `admin`; what more it takes they find out. */
export class Keys extends Context.Service<
  Keys,
  {
    create(
      caller: By,
      key: {
        readonly organizationId: OrganizationId
        readonly name: string
        readonly scopes: ReadonlyArray<Scope>
        /** When the key ends, and how many calls it may make in any 60 seconds. */
        readonly bounds: KeyBounds
      }
    ): Managed<NewKey>
    /**
     * Makes a key with a new id in place of another one, which goes on working for `overlapSeconds`. Two ids, so that
     * the last use of each tells when all clients have moved, and each can be revoked alone.
     */
    rotate(
      caller: By,
      id: KeyId,
      settings: { readonly overlapSeconds: number; readonly expiresAt: Option.Option<Date> }
    ): Managed<NewKey>
    /** Ends a key in every process within 5 seconds. A key of an operator is ended by operators only. */
    revoke(caller: By, id: KeyId): Managed<KeyDetails>
    list(organization: OrganizationId): Effect.Effect<ReadonlyArray<KeyDetails>, StoreUnavailable>
  }
>()("sluice/accounts/Keys") {
  static readonly layer = Layer.effect(
    Keys,
    Effect.gen(function* () {
      const store = yield* KeyStore
      const issue = ApiKey.issue(yield* InstallationSecret)

      /** A key that is not the caller's business is as if it were not there. */
      const findFor = Effect.fnUntraced(function* (caller: By, id: KeyId) {
        const key = yield* store.details(id)
        if (Option.isSome(key)) {
          if (key.value.organizationId === caller.organizationId || caller.scopes.has("operator")) return key.value
        }
        return yield* new KeyRefused({ reason: "not_found" })
      })

      const create = Effect.fn("Keys.create")(function* (
        caller: By,
        { bounds, name, organizationId, scopes }: Parameters<Keys["Service"]["create"]>[1]
      ) {
        yield* requireAll(caller, scopes)
        const { record, secret } = issue()
        const key = { ...record, organizationId, name, scopes: [...new Set(scopes)] }
        return { secret, key: yield* store.create(key, bounds, caller) }
      })

      const rotate = Effect.fn("Keys.rotate")(function* (
        caller: By,
        id: KeyId,
        settings: Parameters<Keys["Service"]["rotate"]>[2]
      ) {
        const old = yield* findFor(caller, id)
        yield* requireAll(caller, old.scopes)
        const { record, secret } = issue()
        const { name, organizationId, scopes } = old
        return { secret, key: yield* store.rotate(id, { ...record, organizationId, name, scopes }, settings, caller) }
      })

      const revoke = Effect.fn("Keys.revoke")(function* (caller: By, id: KeyId) {
        const key = yield* findFor(caller, id)
        if (key.scopes.includes("operator")) yield* requireAll(caller, ["operator"])
        return yield* store.revoke(key, caller)
      })

      return Keys.of({ create, rotate, revoke, list: store.list })
    })
  )
}
