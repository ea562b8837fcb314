import { Schema } from "effect"

/** The credit pool of an organization, in credits: `granted = balance + held + spent`. */
export const CreditBalance = Schema.Struct({
  balance: Schema.Finite.annotate({ description: "Credits that can still be spent." }),
  held: Schema.Finite.annotate({ description: "Credits reserved by calls under way." }),
  spent: Schema.Finite.annotate({ description: "Credits charged so far." }),
  granted: Schema.Finite.annotate({ description: "Credits granted so far." })
}).annotate({ identifier: "CreditBalance", description: "The credit pool of an organization." })
export type CreditBalance = typeof CreditBalance.Type

/** What a key may do: use the service, manage its content, manage the organization, manage all organizations. */
export const Scope = Schema.Literals(["invoke", "manage", "admin", "operator"]).annotate({
  identifier: "Scope",
  description: "What a key may do: use the service, manage its content, its organization, or all organizations."
})
export type Scope = typeof Scope.Type

export const ALL_SCOPES = Scope.literals

/** Whether a key may do what needs a scope. An operator, who can make any key, may do everything. */
export const allows = (scopes: ReadonlySet<Scope>, required: Scope): boolean =>
  scopes.has(required) || scopes.has("operator")

/** Names of keys and organizations are shown on terminals and in tables. */
export const Name = Schema.String.check(
  Schema.isPattern(/^[^\p{C}]{1,128}$/u, { expected: "a name of 1 to 128 characters without control characters" })
)
