import { LLMock } from "@copilotkit/aimock"
import { ConfigProvider, Context, Effect, Layer } from "effect"

/** A mock of all vendors on this machine. Answers are added with its own methods, for example `onMessage`. */
export class VendorMock extends Context.Service<VendorMock, LLMock>()("test/VendorMock") {
  static readonly layer = Layer.effect(
    VendorMock,
    Effect.acquireRelease(
      Effect.promise(() => LLMock.create({ host: "127.0.0.1", port: 0, logLevel: "silent" })),
      (mock) => Effect.promise(() => mock.stop())
    )
  )
}

export const OPENAI_KEY = "sk-test-openai-0123456789"
export const ANTHROPIC_KEY = "sk-ant-test-0123456789"

/** Settings that send all vendors' calls to `url`, for this process or for a child's environment. */
export const vendorSettings = (url: string): Record<string, string> => ({
  OPENAI_API_KEY: OPENAI_KEY,
  OPENAI_BASE_URL: `${url}/v1`,
  ANTHROPIC_API_KEY: ANTHROPIC_KEY,
  ANTHROPIC_BASE_URL: url
})

/** Settings of this process alone that send all vendors' calls to the mock. */
export const mockSettings = Layer.unwrap(
  Effect.map(VendorMock, (mock) => ConfigProvider.layer(ConfigProvider.fromEnvRecord(vendorSettings(mock.url))))
)
