/**
 * Compares an answer with the one that a document shows and returns one line for each difference, by path.
 *
 * Objects have the same keys; text, numbers and flags are equal. What no document can promise is compared by its kind
 * alone: identifiers and times, and numbers under a key that ends with `_ms`. Numbers agree in the digits that are shown.
 * `...` in a text stands for any text; a list that ends with `"..."` goes on in any way.
 */
export const differences = (actual: unknown, shown: unknown, path = "$"): ReadonlyArray<string> => {
  if (Array.isArray(shown)) return Array.isArray(actual) ? ofLists(actual, shown, path) : [wrong(actual, shown, path)]
  if (isObject(shown)) return isObject(actual) ? ofObjects(actual, shown, path) : [wrong(actual, shown, path)]
  return isSame(actual, shown, path) ? [] : [wrong(actual, shown, path)]
}

const ofLists = (actual: ReadonlyArray<unknown>, shown: ReadonlyArray<unknown>, path: string) => {
  const goesOn = shown.at(-1) === "..."
  const items = goesOn ? shown.slice(0, -1) : shown
  if (goesOn ? actual.length < items.length : actual.length !== items.length) {
    return [`${path}: ${actual.length} items, not ${items.length}`]
  }
  return items.flatMap((item, index) => differences(actual[index], item, `${path}[${index}]`))
}

const ofObjects = (
  actual: Readonly<Record<string, unknown>>,
  shown: Readonly<Record<string, unknown>>,
  path: string
): ReadonlyArray<string> => [
  ...Object.keys(actual)
    .filter((key) => !Object.hasOwn(shown, key))
    .map((key) => `${path}.${key}: not shown`),
  ...Object.entries(shown).flatMap(([key, value]) =>
    Object.hasOwn(actual, key) ? differences(actual[key], value, `${path}.${key}`) : [`${path}.${key}: not there`]
  )
]

const isSame = (actual: unknown, shown: unknown, path: string) => {
  if (typeof actual !== typeof shown) return false
  if (typeof shown === "number") {
    if (path.endsWith("_ms")) return true
    return Number(actual).toFixed(decimals(shown)) === shown.toFixed(decimals(shown))
  }
  if (typeof shown !== "string") return actual === shown
  const volatile = [instant, identifier].some((kind) => kind.test(shown) && kind.test(String(actual)))
  return volatile || pattern(shown).test(String(actual))
}

/** A whole number is exact: no answer may differ from it in what would be its decimals. */
const decimals = (shown: number) => (Number.isInteger(shown) ? 9 : (String(shown).split(".")[1]?.length ?? 0))

const instant = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/
// A UUID, or a prefix and then at least sixteen letters and digits with a digit among them.
const identifier = /^(?:[a-z]+_)?(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[a-z]*\d)[0-9a-z]{16,})$/i

const pattern = (shown: string) => new RegExp(`^${shown.split("...").map(RegExp.escape).join("[\\s\\S]*")}$`)

const wrong = (actual: unknown, shown: unknown, path: string) =>
  `${path}: ${JSON.stringify(actual)}, not ${JSON.stringify(shown)}`

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
