import { spawn } from "node:child_process"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { Cause, ConfigProvider, Console, Effect, Exit } from "effect"
import { Command } from "effect/cli"
import { commands } from "../../src/cli/Commands.ts"

const bin = join(import.meta.dirname, "../../bin/sluice.js")

/** How a command of the command line ended, and what it printed. */
export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs a command in this process, which is quicker: the same commands and settings, with what would be the process's
 * last line on standard error as `stderr`.
 */
export const runCommand = async (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>
): Promise<CommandResult> => {
  const lines: Array<string> = []
  const exit = await Command.make("sluice").pipe(
    Command.withSubcommands([...commands]),
    (root) => Command.runWith(root, { version: "test" })(args),
    Effect.provideService(Console.Console, { ...globalThis.console, log: (line: string) => lines.push(line) }),
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env))),
    Effect.provide(NodeServices.layer),
    Effect.runPromiseExit
  )
  const stdout = lines.map((line) => `${line}\n`).join("")
  if (Exit.isSuccess(exit)) return { code: 0, stdout, stderr: "" }
  const error = Cause.squash(exit.cause)
  return { code: 1, stdout, stderr: `${error instanceof Error ? error.message : String(error)}\n` }
}

/** Runs `sluice` with these arguments in a process of its own, in a bare environment, as a shell would. It is killed after 20 seconds. */
export const sluice = (
  args: ReadonlyArray<string>,
  options: { readonly env: Readonly<Record<string, string>>; readonly cwd: string }
): Promise<CommandResult> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [bin, ...args], {
      cwd: options.cwd,
      env: { PATH: process.env.PATH, HOME: options.cwd, ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 20_000,
      killSignal: "SIGKILL"
    })
    const output = { stdout: "", stderr: "" }
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text))
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, ...output }))
  })
