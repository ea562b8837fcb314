import { Schema } from "effect"

/** The credit pool of an organization, in credits: `granted = balance + held + spent`. */
export const CreditBalance = Schema.Struct({
  balance: Schema.Finite.annotate({ description: "Credits that can still be spent." }),
  held: Schema.Finite.annotate({ description: "Credits reserved by calls under way." }),
  spent: Schema.Finite.annotate({ description: "Credits charged so far." }),
  granted: Schema.Finite.annotate({ description: "Credits granted so far." })
}).annotate({ identifier: "CreditBalance", description: "The credit pool of the caller's organization." })
export type CreditBalance = typeof CreditBalance.Type

/** What a key may do: use the service, manage its content, manage the organization, manage all organizations. */
export const Scope = Schema.Literals(["invoke", "manage", "admin", "operator"])
export type Scope = typeof Scope.Type
