import { globSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { assert, describe, it } from "vitest"

const root = join(import.meta.dirname, "../..")
const files = (pattern: string) => globSync(pattern, { cwd: root }).sort()

const read = (path: string) => readFileSync(join(root, path), "utf8")

/** Whether a source does nothing but hand on what others export. */
const isBarrel = (source: string) => {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "")
  const own = code.replaceAll(/export (?:type )?(?:\*(?: as \w+)?|\{[^}]*\}) from "[^"]*"/g, "")
  return own.trim() === "" && code.trim() !== ""
}

/** The lines of sources that match, as `path:line text`. */
const matches = (paths: ReadonlyArray<string>, pattern: RegExp) =>
  paths.flatMap((path) =>
    read(path)
      .split("\n")
      .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1} ${line.trim()}`] : []))
  )

// Not inside of other words: `maxai` names nobody. Written in camel case (`OpenAiModels`) they are found all the same.
const vendors = new RegExp(
  [
    "openai|anthropic|claude|gemini|vertex.?ai|mistral|perplexity|deepseek|openrouter|huggingface|replicate\\.com|ollama",
    "(?<![a-z])(?:xai|grok|groq|cohere|bedrock|azure|google|together\\.ai|voyage.?ai)(?![a-z])",
    "(?<![a-z])gpt-[0-9]"
  ].join("|"),
  "i"
)

describe("the sources", () => {
  it("name vendors in src/providers only", () => {
    const elsewhere = files("src/**/*.ts").filter((path) => !path.startsWith("src/providers/"))
    assert.isAbove(elsewhere.length, 10)
    assert.deepStrictEqual(matches(elsewhere, vendors), [])
  })

  it("would be caught naming a vendor", () => {
    const caught = [
      "the OpenAI API",
      "OpenAiModels",
      "ANTHROPIC_API_KEY",
      "mistral-embed",
      '"xai"',
      "gpt-5.4-mini",
      "Google's"
    ]
    assert.deepStrictEqual(
      caught.filter((text) => !vendors.test(text)),
      []
    )
    const innocent = ["/openapi.json", "OpenApi.fromApi", "gpt-tokenizer", "maxAi", "googol"]
    assert.deepStrictEqual(
      innocent.filter((text) => vendors.test(text)),
      []
    )
  })

  it("have no drawers for odds and ends and no barrels", () => {
    const drawer = /^(?:utils?|helpers?|common|misc)(?:\.ts)?$/i
    const paths = files("src/**/*").filter((path) => path.split("/").some((part) => drawer.test(part)))
    assert.deepStrictEqual(paths, [])
    const barrels = files("src/*/**/*.ts").filter((path) => basename(path) === "index.ts" || isBarrel(read(path)))
    assert.deepStrictEqual(barrels, [])
    assert.isTrue(isBarrel('/** All. */\nexport * from "./A.ts"\nexport {\n  b\n} from "./B.ts"\n'))
    assert.isFalse(isBarrel('export { a } from "./A.ts"\nexport const b = 1\n'))
  })

  it("name folders in lower case and modules in PascalCase", () => {
    const wrong = files("src/*/**/*.ts").filter((path) => !/^src(?:\/[a-z]+)+\/[A-Z][A-Za-z0-9]*\.ts$/.test(path))
    assert.deepStrictEqual(wrong, [])
  })

  it("silence no tool and leave nothing to do", () => {
    const silencers = new RegExp(["biome-" + "ignore", "@ts-" + "(?:ignore|nocheck)", "eslint-" + "disable"].join("|"))
    const unfinished = new RegExp(`\\b(?:${["TO" + "DO", "FIX" + "ME", "X" + "XX"].join("|")})\\b`)
    const code = files("{src,test,scripts}/**/*.ts")
    assert.deepStrictEqual(matches(code, silencers), [])
    assert.deepStrictEqual(matches(code, unfinished), [])
  })
})
