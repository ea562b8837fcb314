import { spawn } from "node:child_process"
import { join } from "node:path"

const bin = join(import.meta.dirname, "../../bin/sluice.js")

/** How a command of the command line ended, and what it printed. */
export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `sluice` with these arguments in a bare environment, as a shell would. It is killed after 20 seconds. */
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
