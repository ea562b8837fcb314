import { randomUUID } from "node:crypto"
import { openSync, writeSync } from "node:fs"
import { Effect, Layer, Option } from "effect"
import { Credits } from "../../src/accounts/Credits.ts"
import { KeyId, OperationId, OrganizationId } from "../../src/domain/Ids.ts"
import { AccountStore } from "../../src/store/AccountStore.ts"
import { Database } from "../../src/store/Database.ts"

/**
 * A gateway's credits in a process of their own, and callers who spend without end, each request with an idempotency
 * key and sent again when it fails. Each acknowledged charge (`charged <operation> <amount>`) and each refusal
 * (`refused`) is in the file before the caller goes on.
 *
 * Arguments: organization, number of callers, file. The database is that of `DATABASE_URL`.
 */
const [organizationId, callers, path] = process.argv.slice(2)
const organization = OrganizationId.make(organizationId!)
const file = openSync(path!, "a")

const BOUND = 10
const USED = 7

const write = (line: string) => Effect.sync(() => writeSync(file, `${line}\n`))

const attempt = Effect.fnUntraced(function* (credits: Credits["Service"], key: string, number: number) {
  const operationId = OperationId.make(`${key}/${number}`)
  const { replay } = yield* credits.admit(organization, {
    operationId,
    operation: "chaos",
    keyId: KeyId.make("chaos"),
    boundMicro: BOUND,
    idempotency: { space: "rest", key, fingerprint: "chaos" }
  })
  if (Option.isSome(replay)) return yield* write(`charged ${replay.value} ${USED}`)
  const charged = yield* credits.settle(organization, { operationId, usedMicro: USED, response: operationId })
  // Whose hold is gone was charged nothing, and is none of the acknowledged.
  yield* write(charged === USED ? `charged ${operationId} ${charged}` : "late")
})

const request = Effect.fnUntraced(function* (credits: Credits["Service"]) {
  const key = randomUUID()
  for (let number = 1; ; number++) {
    const again = yield* attempt(credits, key, number).pipe(
      Effect.as(false),
      Effect.catchTag("InsufficientCredits", () => Effect.as(write("refused"), false)),
      Effect.catch(() => Effect.as(Effect.sleep("50 millis"), true))
    )
    if (!again) return
  }
})

await Effect.gen(function* () {
  const credits = yield* Credits
  yield* Effect.forEach(Array.from({ length: Number(callers) }), () => Effect.forever(request(credits)), {
    concurrency: "unbounded",
    discard: true
  })
}).pipe(
  Effect.provide(Credits.layer.pipe(Layer.provide(AccountStore.layer), Layer.provide(Database.layer))),
  Effect.runPromise
)
