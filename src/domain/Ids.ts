import { Schema } from "effect"

/** The tenant: owner of keys, credits, collections and limits. */
export const OrganizationId = Schema.String.pipe(Schema.brand("OrganizationId"))
export type OrganizationId = typeof OrganizationId.Type

/** The public half of an API key (`sl_<keyId>_<secret>`). */
export const KeyId = Schema.String.pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

/** One metered call. What is held and charged for it is held and charged once under this id. */
export const OperationId = Schema.String.pipe(Schema.brand("OperationId"))
export type OperationId = typeof OperationId.Type

/** Names one HTTP exchange in responses, logs and spans (`x-request-id`). */
export const RequestId = Schema.String.pipe(Schema.brand("RequestId"))
export type RequestId = typeof RequestId.Type
