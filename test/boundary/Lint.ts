import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

const root = join(import.meta.dirname, "../..")

/** A refused line of a source. */
export interface Refusal {
  readonly path: string
  readonly line: number
  readonly rule: string
}

interface Report {
  readonly diagnostics: ReadonlyArray<{
    readonly category: string
    readonly location: { readonly path: string; readonly start: { readonly line: number } }
  }>
}

/**
 * Lints sources, given by path, under the configuration of this repository and returns what it refuses: by all rules, or
 * by some `only`, which is faster.
 */
export const lint = async (
  sources: Readonly<Record<string, string>>,
  only: ReadonlyArray<string> = []
): Promise<ReadonlyArray<Refusal>> => {
  const directory = await mkdtemp(join(tmpdir(), "sluice-boundary-"))
  try {
    for (const name of ["biome.json", "boundaries", "package.json"]) {
      await cp(join(root, name), join(directory, name), { recursive: true })
    }
    for (const [path, source] of Object.entries(sources)) {
      await mkdir(dirname(join(directory, path)), { recursive: true })
      await writeFile(join(directory, path), source)
    }
    const report = await biome(directory, only)
    return report.diagnostics.map(({ category, location }) => ({
      path: location.path,
      line: location.start.line,
      rule: category
    }))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const biome = (directory: string, only: ReadonlyArray<string>) =>
  new Promise<Report>((resolve, reject) => {
    const binary = join(root, "node_modules/@biomejs/biome/bin/biome")
    const parameters = [
      "lint",
      "--vcs-enabled=false",
      "--reporter=json",
      "--max-diagnostics=none",
      ...only.map((rule) => `--only=${rule}`),
      "src"
    ]
    execFile(
      process.execPath,
      [binary, ...parameters],
      { cwd: directory, maxBuffer: 64 * 1024 * 1024, timeout: 20_000 },
      // Biome exits with 1 when it refuses something: only an unreadable report is a failure.
      (_error, stdout, stderr) => {
        try {
          resolve(JSON.parse(stdout))
        } catch {
          reject(new Error(`Biome made no report: ${stderr}`))
        }
      }
    )
  })
