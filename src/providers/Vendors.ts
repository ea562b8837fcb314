import { Effect } from "effect"
import { anthropicMessages } from "./AnthropicMessages.ts"
import { extractive } from "./Extractive.ts"
import { lexical } from "./Lexical.ts"
import { openAiChat } from "./OpenAiChat.ts"
import { openAiEmbeddings } from "./OpenAiEmbeddings.ts"
import type { Vendor } from "./Vendor.ts"

/**
 * All vendors, in the order in which a default is looked for. A vendor that speaks a known protocol is one more row.
 *
 * Sources: the vendors' API references; model names are those of the SDKs' own types.
 */
export const vendors: ReadonlyArray<Vendor> = [
  {
    id: "openai",
    access: {
      baseUrl: "https://api.openai.com/v1",
      keyVariable: "OPENAI_API_KEY",
      baseUrlVariable: "OPENAI_BASE_URL"
    },
    generation: {
      connect: openAiChat({ maxTokensParameter: "max_completion_tokens" }),
      defaultModel: "gpt-5.4-mini",
      defaultMaxTokens: 4096,
      maxOutputTokens: 128_000
    },
    embedding: {
      connect: openAiEmbeddings,
      defaultModel: "text-embedding-3-small",
      known: new Map([
        ["text-embedding-3-small", { default: 1536, min: 1, max: 1536 }],
        ["text-embedding-3-large", { default: 3072, min: 1, max: 3072 }],
        ["text-embedding-ada-002", { default: 1536, min: 1536, max: 1536 }]
      ]),
      isClosed: false,
      // 2,048 inputs and 300,000 tokens; a token of any script has about 3 bytes or more.
      batch: { texts: 2048, bytes: 600_000 }
    }
  },
  {
    id: "anthropic",
    access: {
      baseUrl: "https://api.anthropic.com",
      keyVariable: "ANTHROPIC_API_KEY",
      baseUrlVariable: "ANTHROPIC_BASE_URL"
    },
    generation: {
      connect: anthropicMessages,
      defaultModel: "claude-sonnet-5-5",
      defaultMaxTokens: 4096,
      maxOutputTokens: 64_000
    }
  },
  {
    id: "local",
    generation: {
      connect: () => Effect.succeed(extractive),
      defaultModel: "extractive",
      models: ["extractive"],
      defaultMaxTokens: 1024,
      maxOutputTokens: 4096
    },
    embedding: {
      connect: () => Effect.succeed(lexical),
      defaultModel: "lexical-384",
      known: new Map([["lexical-384", { default: 384, min: 64, max: 4096 }]]),
      isClosed: true,
      batch: { texts: 2048, bytes: Number.MAX_SAFE_INTEGER }
    }
  }
]
