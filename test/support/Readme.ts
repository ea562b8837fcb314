import { execFile } from "node:child_process"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { differences } from "./ReadmeAnswer.ts"

/** A bash block of a Markdown text. */
export interface Example {
  /** Line of the opening fence, from 1. */
  readonly line: number
  readonly script: string
  /** The JSON block that follows it: what it is said to print. */
  readonly answer?: string
  /** Why the block is not run, from `<!-- not run: why -->` on the line before it. */
  readonly notRun?: string
}

interface Block {
  readonly line: number
  readonly language: string
  readonly text: string
  readonly notRun?: string
}

/** The bash blocks of a Markdown text in their order. A JSON block is the answer of the bash block just before it. */
export const examplesOf = (markdown: string): ReadonlyArray<Example> => {
  const blocks = blocksOf(markdown)
  return blocks.flatMap((block, index) => {
    if (block.language !== "bash") return []
    const next = blocks[index + 1]
    return {
      line: block.line,
      script: block.text,
      ...(next?.language === "json" && { answer: next.text }),
      ...(block.notRun !== undefined && { notRun: block.notRun })
    }
  })
}

const blocksOf = (markdown: string) => {
  const blocks: Array<Block> = []
  let before = ""
  let open: { line: number; fence: string; language: string; text: Array<string>; notRun?: string } | undefined
  for (const [index, line] of markdown.split("\n").entries()) {
    const fence = /^\s*(`{3,}|~{3,})\s*([a-z]*)/.exec(line)
    if (open !== undefined) {
      if (line.trim() === open.fence) {
        blocks.push({ ...open, text: open.text.join("\n") })
        open = undefined
      } else open.text.push(line)
    } else if (fence !== null) {
      const notRun = /^<!--\s*not run:\s*(.+?)\s*-->$/.exec(before)?.[1]
      open = {
        line: index + 1,
        fence: fence[1] ?? "```",
        language: fence[2] ?? "",
        text: [],
        ...(notRun !== undefined && { notRun })
      }
    }
    if (line.trim() !== "") before = line.trim()
  }
  if (open !== undefined) throw new Error(`The block of line ${open.line} has no end`)
  return blocks
}

/** What is wrong with an example, or nothing. */
export type Outcome = ReadonlyArray<string>

/**
 * Runs the examples in their order, each in a bash of its own in `directory`, and returns one line for each thing that
 * is wrong: an exit code that is not 0, an HTTP status of 400 and more (unless the answer given is an error), GraphQL
 * errors, an answer other than the one given. Each may take 60 s.
 */
export const runExamples = async (
  examples: ReadonlyArray<Example>,
  options: { readonly directory: string; readonly env: Readonly<Record<string, string>> }
): Promise<Outcome> => {
  const settings = await mkdtemp(join(tmpdir(), "sluice-readme-"))
  try {
    // Without `fail-with-body` curl exits with 0 whatever the server answers.
    await writeFile(join(settings, ".curlrc"), "fail-with-body\nsilent\nshow-error\nmax-time = 50\n")
    await mkdir(options.directory, { recursive: true })
    const problems: Array<string> = []
    for (const example of examples) {
      if (example.notRun !== undefined) continue
      const found = await run(example, options.directory, { ...options.env, CURL_HOME: settings })
      problems.push(...found.map((problem) => `line ${example.line}: ${problem}`))
    }
    return problems
  } finally {
    await rm(settings, { recursive: true, force: true })
  }
}

const run = async (example: Example, directory: string, env: Readonly<Record<string, string>>): Promise<Outcome> => {
  const { code, stdout, stderr } = await bash(example.script, directory, env)
  const isError = example.answer !== undefined && /"success":\s*false/.test(example.answer)
  if (code !== (isError ? httpError : 0)) return [`exit code ${code}: ${stderr.trim()} ${stdout.trim()}`]
  if (example.answer === undefined) return /^\s*\{\s*"errors":/.test(stdout) ? [`GraphQL errors: ${stdout.trim()}`] : []
  try {
    return differences(JSON.parse(stdout), JSON.parse(example.answer))
  } catch (error) {
    return [`not JSON: ${String(error)} in ${stdout.trim()}`]
  }
}

/** What curl exits with under `fail-with-body` when the status is 400 or more. */
const httpError = 22

const bash = (script: string, cwd: string, env: Readonly<Record<string, string>>) =>
  new Promise<{ code: number | string; stdout: string; stderr: string }>((resolve) => {
    // Bash takes the socket that is its standard input here for a remote shell and would read bashrc.
    execFile(
      "bash",
      ["--norc", "-euo", "pipefail", "-c", script],
      {
        cwd,
        env: { PATH: process.env.PATH, HOME: env.CURL_HOME, ...env },
        timeout: 60_000,
        maxBuffer: 64 * 1024 * 1024
      },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : (error.code ?? String(error.signal)), stdout, stderr })
    )
  })
