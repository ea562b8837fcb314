import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import fc from "fast-check"
import { Embeddings } from "../../src/providers/Embeddings.ts"
import { LanguageModels } from "../../src/providers/LanguageModels.ts"
import { lexical } from "../../src/providers/Lexical.ts"
import { toSentences } from "../../src/providers/Passages.ts"

const Local = Layer.mergeAll(LanguageModels.layerMemory, Embeddings.layerMemory)

const cosine = (a: ReadonlyArray<number>, b: ReadonlyArray<number>) =>
  a.reduce((sum, value, index) => sum + value * b[index]!, 0)

const embed = Effect.fnUntraced(function* (...texts: ReadonlyArray<string>) {
  return yield* (yield* (yield* Embeddings).resolve({ provider: "local" })).embed(texts)
})

const ask = Effect.fnUntraced(function* (
  prompt: string,
  options: { readonly system?: string; readonly maxTokens?: number } = {}
) {
  const model = yield* (yield* LanguageModels).resolve({ provider: "local" })
  return yield* model.generate({ prompt, maxTokens: model.defaultMaxTokens, ...options })
})

layer(Local)("the local embeddings", (it) => {
  it.effect("are the same for the same text, and 384 long", () =>
    Effect.gen(function* () {
      const [first, second] = yield* embed("Vitamin D and bones", "Vitamin D and bones")
      assert.strictEqual(first!.length, 384)
      assert.deepStrictEqual(first, second)
    })
  )

  it.effect("are near for texts that share words or stems, far for others", () =>
    Effect.gen(function* () {
      const [query, same, similar, other] = yield* embed(
        "bone fractures of patients",
        "patient with a fractured bone",
        "osteoporotic fracture",
        "compilers optimize loops"
      )
      assert.isAbove(cosine(query!, same!), 0.6)
      assert.isAbove(cosine(query!, similar!), cosine(query!, other!) + 0.1)
      assert.isBelow(Math.abs(cosine(query!, other!)), 0.2)
    })
  )

  it.effect("compare texts of stop words by those", () =>
    Effect.gen(function* () {
      const [query, same, other] = yield* embed("to be or not to be", "not to be", "they had been there")
      assert.isAbove(cosine(query!, same!), cosine(query!, other!) + 0.2)
    })
  )

  it.effect("have one direction for all texts without a word", () =>
    Effect.gen(function* () {
      const vectors = yield* embed("?!", "   ", "\ud800")
      for (const vector of vectors) assert.deepStrictEqual(vector.slice(0, 3), [1, 0, 0])
    })
  )

  it.effect("let other work go on while a long text is embedded", () =>
    Effect.gen(function* () {
      let turns = 0
      const other = yield* Effect.forkChild(
        Effect.forever(
          Effect.andThen(
            Effect.sync(() => turns++),
            Effect.yieldNow
          )
        )
      )
      yield* embed("word ".repeat(40_000))
      yield* Fiber.interrupt(other)
      assert.isAbove(turns, 10)
    })
  )
})

describe("any text", () => {
  it("gets a vector of unit length and of the wanted dimensions", () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "binary", maxLength: 300 }),
        fc.integer({ min: 64, max: 512 }),
        async (text, dimensions) => {
          const [vector] = await Effect.runPromise(lexical({ model: "lexical-384", texts: [text], dimensions }))
          assert.strictEqual(vector!.length, dimensions)
          assert.approximately(cosine(vector!, vector!), 1, 1e-3)
        }
      )
    ))

  it.effect("gets an answer that says what to configure or quotes it", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(fc.string({ unit: "binary", maxLength: 300 }), async (text) => {
          const prompt = `Context: ${text}\nQuestion: ${text}`
          const result = await Effect.runPromise(Effect.provide(ask(prompt), Local))
          assert.isAbove(result.text.length, 0)
          assert.isAbove(result.usage.total_tokens, 0)
        })
      )
    )
  )
})

const PASSAGES = `Use the context to answer.

Context:
[1] Paris is the capital of France. It lies on the Seine.
[2] Dr. Meyer lives in Berlin. Berlin has 3.7 million people.
[3] The Rhine is a river.`

layer(Local)("the local language model", (it) => {
  it.effect("says in one sentence what to configure when there is no context", () =>
    Effect.gen(function* () {
      for (const prompt of ["What is the capital of France?", "Write a poem.\n\nMake it rhyme.", " ", "Context:"]) {
        const { finishReason, text } = yield* ask(prompt)
        assert.match(text, /^No language model is configured.*OPENAI_API_KEY.*ANTHROPIC_API_KEY[^.]*\.$/)
        assert.strictEqual(finishReason, "stop")
      }
    })
  )

  const questions: ReadonlyArray<readonly [string, string, string]> = [
    [
      "numbered passages and a labelled question",
      `${PASSAGES}\n\nQuestion: What is the capital of France?`,
      "Paris is the capital of France. [1]"
    ],
    [
      "a question before its passages",
      `Question: Where does Meyer live?\n\n${PASSAGES}`,
      "Dr. Meyer lives in Berlin. [2]"
    ],
    [
      "a question in a paragraph of its own",
      `${PASSAGES}\n\nHow many millions of people has Berlin?`,
      "Berlin has 3.7 million people. [2]"
    ],
    ["a labelled context", "Context: Cats purr. Dogs bark.\n\nQuestion: Which animals bark?", "Dogs bark."],
    ["a context before which the question stands", "Which animals purr?\nContext: Cats purr. Dogs bark.", "Cats purr."]
  ]
  for (const [name, prompt, expected] of questions) {
    it.effect(`quotes the sentence that matches: ${name}`, () =>
      Effect.gen(function* () {
        const { finishReason, text } = yield* ask(prompt)
        assert.include(text, expected)
        assert.isTrue(text.startsWith(expected))
        assert.strictEqual(finishReason, "stop")
      })
    )
  }

  it.effect("finds the context in the system prompt", () =>
    Effect.gen(function* () {
      const { text } = yield* ask("What is the capital of France?", { system: PASSAGES })
      assert.isTrue(text.startsWith("Paris is the capital of France. [1]"))
    })
  )

  const ARTICLE = Array.from({ length: 12 }, (_, i) => `Sentence ${i} tells about topic${i} and nothing else.`).join(
    " "
  )

  it.effect("answers a question about a long text without marks", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        (yield* ask(`${ARTICLE}\n\nWhat of topic7?`)).text,
        "Sentence 7 tells about topic7 and nothing else."
      )
    })
  )

  it.effect("summarizes with sentences of the text", () =>
    Effect.gen(function* () {
      const { text } = yield* ask(`Summarize the following text:\n\n${ARTICLE}`)
      for (const sentence of toSentences(text)) assert.include(ARTICLE, sentence)
    })
  )

  it.effect("says that nothing matches rather than to guess", () =>
    Effect.gen(function* () {
      const { text } = yield* ask("Context: Cats purr. Dogs bark.\n\nQuestion: What is photosynthesis?")
      assert.strictEqual(text, "The given context has no sentence that matches the question.")
    })
  )

  it.effect("stops at max_tokens and counts what it used", () =>
    Effect.gen(function* () {
      const prompt = `${PASSAGES}\n\nQuestion: What is the capital of France?`
      const whole = yield* ask(prompt)
      const cut = yield* ask(prompt, { maxTokens: 3 })
      assert.strictEqual(cut.text, "Paris is the")
      assert.strictEqual(cut.finishReason, "length")
      assert.strictEqual(cut.usage.completion_tokens, 3)
      assert.strictEqual(cut.usage.prompt_tokens, whole.usage.prompt_tokens)
      assert.strictEqual(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens)
    })
  )

  it.effect("names the temperature that it cannot honour", () =>
    Effect.gen(function* () {
      const model = yield* (yield* LanguageModels).resolve({ provider: "local" })
      const { warnings } = yield* model.generate({ prompt: "Hi", maxTokens: 10, temperature: 1 })
      assert.deepStrictEqual(warnings, ["extractive has no temperature: options.temperature was left out."])
    })
  )
})
