import { defineConfig } from "vitest/config"

/** Tests in `*.integration.test.ts` need a real Postgres and run where there is one. */
const needsPostgres = process.env.TEST_DATABASE_URL === undefined ? ["test/**/*.integration.test.ts"] : []

export default defineConfig({
  // Without these, tests get a second copy of `graphql`, and no error of one copy is an error to the other.
  ssr: { resolve: { conditions: ["module-sync", "node", "import"] } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/databaseSnapshot.ts"],
    exclude: needsPostgres,
    // Processes, not threads: the embedded database brings a worker thread of its own.
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      reporter: [["text", { skipFull: true }], "json-summary"],
      reportOnFailure: true,
      thresholds: { lines: 90 }
    }
  }
})
