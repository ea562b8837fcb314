// Prints `<passed> <failed>` of a vitest JSON report. A file that could not be loaded is one failure, and so is a run
// that failed without a failed test: coverage below its threshold, an unhandled error, a crash, a time-out.
import { readFileSync } from "node:fs"

const [path, status] = process.argv.slice(2)

const read = () => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, testResults: [] }
  }
}

const { numPassedTests, numFailedTests, testResults } = read()
const notLoaded = testResults.filter(
  ({ status, assertionResults }) => status === "failed" && !assertionResults.some((test) => test.status === "failed")
).length
const failed = numFailedTests + notLoaded
process.stdout.write(`${numPassedTests} ${failed === 0 && status !== "0" ? 1 : failed}\n`)
