import { Worker } from "node:worker_threads"
import type { PgliteEvent, PgliteRequest, PgliteWorkerData } from "./PgliteWorker.ts"
import { statusOf, type TransactionStatus } from "./Wire.ts"

/** Who waits for the answer to the request under way. */
interface Waiter {
  readonly onEvent: (event: PgliteEvent) => void
  readonly fail: (error: Error) => void
}

/** One PGlite in a thread of its own. It runs one batch at a time; whoever uses it sees to that. */
export class PgliteBackend {
  readonly ready: Promise<void>
  /** Fulfilled with the reason when the thread is gone. */
  readonly ended: Promise<Error>
  readonly #worker: Worker
  #isReady = false
  #waiter: Waiter | undefined
  #lastError: Error | undefined

  constructor(data: PgliteWorkerData) {
    this.#worker = new Worker(new URL("./PgliteWorker.ts", import.meta.url), { workerData: data, execArgv: [] })
    this.#worker.on("error", (error) => {
      this.#lastError = error instanceof Error ? error : new Error(String(error))
    })
    this.#worker.on("message", (event: PgliteEvent) => this.#waiter?.onEvent(event))
    this.ended = new Promise((resolve) => {
      this.#worker.on("exit", (code) => {
        const error = this.#lastError ?? new Error(`The embedded database ended with code ${code}`)
        this.#waiter?.fail(error)
        resolve(error)
      })
    })
    this.ready = this.#next<void>((event, done) => {
      if (event.type !== "ready") return
      this.#isReady = true
      done()
    })
    // It is for whoever awaits it; nobody may, when the thread ends later on.
    this.ready.catch(() => {})
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /** Runs one batch and answers the transaction status it leaves behind; `onAnswer` gets the raw answer piece by piece. */
  execute(bytes: Uint8Array<ArrayBuffer>, onAnswer: (bytes: Uint8Array) => void): Promise<TransactionStatus> {
    let tail: Uint8Array = new Uint8Array(0)
    const answered = this.#next<TransactionStatus>((event, done, fail) => {
      if (event.type !== "answer") return
      if (event.bytes.length > 0) onAnswer(event.bytes)
      tail = event.bytes.length >= 6 ? event.bytes : Buffer.concat([tail.subarray(-6), event.bytes])
      if (!event.last) return
      const status = statusOf(tail)
      if (status === undefined) fail(new Error("The embedded database gave an incomplete answer"))
      else done(status)
    })
    this.#post({ type: "execute", bytes }, [bytes.buffer])
    return answered
  }

  /** The whole database as a tar. */
  snapshot(): Promise<Uint8Array<ArrayBuffer>> {
    const answered = this.#next<Uint8Array<ArrayBuffer>>((event, done) => {
      if (event.type === "snapshot") done(event.bytes)
    })
    this.#post({ type: "snapshot" })
    return answered
  }

  /** Shuts the database down in good order, or hard after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#post({ type: "close" })
    const timer = setTimeout(() => this.terminate(), graceMs)
    await this.ended
    clearTimeout(timer)
  }

  /** Ends the thread at once, as a crash would. */
  terminate(): void {
    void this.#worker.terminate()
  }

  #post(request: PgliteRequest, transfer: Array<ArrayBuffer> = []): void {
    this.#worker.postMessage(request, transfer)
  }

  #next<A>(onEvent: (event: PgliteEvent, done: (value: A) => void, fail: (error: Error) => void) => void): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiter = { onEvent: (event) => onEvent(event, resolve, reject), fail: reject }
    })
  }
}
