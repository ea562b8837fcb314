import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onTestFinished } from "vitest"

const root = join(import.meta.dirname, "../..")

/** How a process ended: by itself with a code, or by a signal. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A running gateway in a process of its own. */
export interface ServerProcess extends AsyncDisposable {
  /** Its address, without a slash at the end. */
  readonly url: string
  /** The key of the first start: `SLUICE_BOOTSTRAP_KEY` if that was given, otherwise what it wrote under `dataDir`. */
  readonly apiKey: string
  readonly dataDir: string
  readonly pid: number
  /** What it wrote to standard output so far. */
  readonly stdout: string
  /** What it wrote to standard error so far. */
  readonly stderr: string
  /** Sends a signal and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<Exit>
  readonly exited: Promise<Exit>
}

export interface ServerOptions {
  /** Added to a bare environment: nothing of the caller's own reaches the server but `PATH` and `HOME`. */
  readonly env?: Readonly<Record<string, string>>
  /** Kept at the end when it is given; by default a new directory that goes with the process. */
  readonly dataDir?: string
  /** The module to run; by default the gateway's own command line. */
  readonly entry?: string
  /** How long the start may take. By default 60,000. */
  readonly readyWithinMs?: number
}

/**
 * Starts the gateway as a user would, on a free port, and waits until `/readyz` answers 200. Rejects with what the
 * process wrote when it ends or is not ready in time.
 *
 * No process outlives its test: it is killed when the test is finished, when the value is disposed (`await using`), and
 * when the process that runs the tests is gone, however that went. Started outside of a test, in `beforeAll` for
 * example, it lives until it is disposed or the test process ends.
 */
export const startServer = async (options: ServerOptions = {}): Promise<ServerProcess> => {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "sluice-server-")))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(process.execPath, [options.entry ?? join(root, "src/main.ts")], {
    // Not the repository: a developer's `.env` there is none of the server's business.
    cwd: dataDir,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      HOST: "127.0.0.1",
      PORT: String(port),
      SLUICE_DATA_DIR: dataDir,
      ...options.env
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const output = { stdout: "", stderr: "" }
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text))
  const exited = exitOf(child)
  const guard = guardOf(child)

  const kill = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exited
  }
  const dispose = async () => {
    await kill("SIGKILL")
    guard.kill("SIGKILL")
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
  }
  atEndOfTest(dispose)

  try {
    await ready(url, exited, options.readyWithinMs ?? 60_000)
  } catch (error) {
    await dispose()
    throw new Error(`The server did not start: ${String(error)}\n${output.stdout}\n${output.stderr}`, { cause: error })
  }
  return {
    url,
    apiKey: options.env?.SLUICE_BOOTSTRAP_KEY ?? keyIn(dataDir),
    dataDir,
    pid: child.pid ?? 0,
    get stdout() {
      return output.stdout
    },
    get stderr() {
      return output.stderr
    },
    kill,
    exited,
    [Symbol.asyncDispose]: dispose
  }
}

/** A TCP port of the loopback that nobody listens on. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("The listener has no port")
  return address.port
}

const exitOf = (child: ChildProcess) =>
  new Promise<Exit>((resolve, reject) => {
    child.once("error", reject)
    // `close` comes after `exit`, when all output has been read.
    child.once("close", (code, signal) => resolve({ code, signal }))
  })

/** A shell that waits for the end of this process, which closes the pipe between them, and then kills the child. */
const guardOf = (child: ChildProcess) => {
  const guard = spawn("sh", ["-c", `read -r _; kill -9 ${child.pid}`], { stdio: ["pipe", "ignore", "ignore"] })
  child.once("exit", () => guard.kill("SIGKILL"))
  guard.unref()
  return guard
}

const atEndOfTest = (dispose: () => Promise<void>) => {
  try {
    onTestFinished(dispose)
  } catch {
    // Not in a test: the caller disposes.
  }
}

const ready = async (url: string, exited: Promise<Exit>, withinMs: number) => {
  const ended = exited.then(({ code, signal }) => {
    throw new Error(`it ended with ${signal ?? code}`)
  })
  ended.catch(() => {})
  const deadline = AbortSignal.timeout(withinMs)
  for (;;) {
    const answer = fetch(`${url}/readyz`, { signal: deadline }).catch(() => undefined)
    if ((await Promise.race([answer, ended]))?.status === 200) return
    if (deadline.aborted) throw new Error(`it was not ready within ${withinMs} ms`)
    await Promise.race([new Promise((resolve) => setTimeout(resolve, 50)), ended])
  }
}

const keyIn = (dataDir: string) => {
  const path = join(dataDir, "api-key")
  if (!existsSync(path)) throw new Error(`No key in ${path}: give SLUICE_BOOTSTRAP_KEY`)
  return readFileSync(path, "utf8").trim()
}
