import { ApiKey, CreateApiKeyRequest, IssuedKey, RevokeApiKeyRequest, RotateApiKeyRequest } from "../domain/Key.ts"
import { OrganizationRequest } from "../domain/Organization.ts"
import { apiKeys, createApiKey, revokeApiKey, rotateApiKey } from "../operations/Keys.ts"
import { builder } from "./Builder.ts"
import { call } from "./Call.ts"
import { inputArgument, outputType, plainArguments } from "./DerivedTypes.ts"

builder.queryField("apiKeys", (t) =>
  t.field({
    description: "The keys of an organization, those that ended too, the latest first. Needs the scope `admin`.",
    type: [outputType(ApiKey)],
    nullable: true,
    args: plainArguments(OrganizationRequest),
    resolve: (_, args, { run }) => run(call(apiKeys, OrganizationRequest, args))
  })
)

builder.mutationFields((t) => ({
  createApiKey: t.field({
    description: "Makes a key and shows its secret, this once. Needs the scope `admin`.",
    type: outputType(IssuedKey),
    nullable: true,
    args: inputArgument(CreateApiKeyRequest),
    resolve: (_, { input }, { run }) => run(call(createApiKey, CreateApiKeyRequest, input))
  }),
  rotateApiKey: t.field({
    description: "Makes a key in place of another one, which goes on working for a while. Needs the scope `admin`.",
    type: outputType(IssuedKey),
    nullable: true,
    args: inputArgument(RotateApiKeyRequest),
    resolve: (_, { input }, { run }) => run(call(rotateApiKey, RotateApiKeyRequest, input))
  }),
  revokeApiKey: t.field({
    description: "Ends a key, in every process within 5 seconds. Needs the scope `admin`.",
    type: outputType(ApiKey),
    nullable: true,
    args: inputArgument(RevokeApiKeyRequest),
    resolve: (_, { input }, { run }) => run(call(revokeApiKey, RevokeApiKeyRequest, input))
  })
}))
