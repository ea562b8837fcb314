import { PgliteBackend } from "./PgliteBackend.ts"
import type { PgliteWorkerData } from "./PgliteWorker.ts"
import { VirtualConnection } from "./VirtualConnection.ts"
import { cancelled, closeStatements, rollback, type TransactionStatus } from "./Wire.ts"

export interface MultiplexerOptions extends PgliteWorkerData {
  /** How long one batch may run, before the database counts as hung and is started anew. */
  readonly batchTimeoutMs: number
  /** How long a transaction may keep everybody else waiting without a statement. */
  readonly idleInTransactionMs: number
}

interface Job {
  readonly connection: VirtualConnection
  readonly bytes: Uint8Array<ArrayBuffer>
}

const CLOSE_GRACE_MS = 5000

/**
 * Shares one database among many connections: batch by batch, and whole transactions at a time. A connection owns the
 * backend from its first statement until the backend says that it is idle, so transactions never mix.
 *
 * After a crash all connections break; the next one starts the database anew from its directory. A database in
 * memory stays gone.
 */
export class Multiplexer {
  readonly #options: MultiplexerOptions
  readonly #connections = new Map<number, VirtualConnection>()
  readonly #queue: Array<Job> = []
  #backend: PgliteBackend | undefined
  #running: Job | undefined
  #owner: VirtualConnection | undefined
  #status: TransactionStatus = "I"
  #idleTimer: NodeJS.Timeout | undefined
  #lastProcessId = 0
  #gone: Error | undefined

  constructor(options: MultiplexerOptions) {
    this.#options = options
    this.#backend = this.#start(options.snapshot)
  }

  /** Fulfilled when the database takes statements, rejected when it could not start. */
  get ready(): Promise<void> {
    return this.#backend?.ready ?? Promise.reject(this.#gone)
  }

  /** The whole database as a tar, when nothing else uses it. */
  snapshot(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#backend?.snapshot() ?? Promise.reject(this.#gone)
  }

  /** A new connection, as a byte stream that speaks the Postgres protocol. */
  connect(): VirtualConnection {
    const connection = new VirtualConnection(this, ++this.#lastProcessId)
    this.#connections.set(connection.processId, connection)
    if (this.#gone !== undefined) connection.destroy(this.#gone)
    else this.#backend ??= this.#start(undefined)
    return connection
  }

  /** Runs a batch of this connection when its turn comes. */
  submit(connection: VirtualConnection, bytes: Uint8Array<ArrayBuffer>): void {
    this.#queue.push({ connection, bytes })
    this.#advance()
  }

  /** Takes back a batch that has not started; one that runs goes on to its end. */
  cancel(processId: number): void {
    const index = this.#queue.findIndex((job) => job.connection.processId === processId)
    if (index === -1) return
    const [job] = this.#queue.splice(index, 1)
    job!.connection.answer(cancelled(this.#owner === job!.connection ? this.#status : "I"))
  }

  /** Forgets a connection that ended: its open transaction is rolled back, its prepared statements are dropped. */
  release(connection: VirtualConnection): void {
    this.#connections.delete(connection.processId)
    for (let index = this.#queue.length - 1; index >= 0; index--) {
      if (this.#queue[index]!.connection === connection) this.#queue.splice(index, 1)
    }
    if (this.#backend === undefined) return
    const owns = this.#owner === connection || this.#running?.connection === connection
    if (connection.prepared.size > 0) this.#queue.unshift({ connection, bytes: closeStatements(connection.prepared) })
    if (owns) this.#queue.unshift({ connection, bytes: rollback() })
    this.#advance()
  }

  /** Ends the database; every connection breaks. */
  async close(): Promise<void> {
    this.#gone = new Error("The embedded database is closed")
    const backend = this.#backend
    this.#backend = undefined
    this.#breakConnections(this.#gone)
    await backend?.close(CLOSE_GRACE_MS)
  }

  #start(snapshot: Uint8Array<ArrayBuffer> | undefined): PgliteBackend {
    const backend = new PgliteBackend({ directory: this.#options.directory, snapshot })
    void backend.ended.then((error) => this.#crashed(backend, error))
    void backend.ready.then(
      () => this.#advance(),
      () => {}
    )
    return backend
  }

  #advance(): void {
    if (this.#backend?.isReady !== true || this.#running !== undefined) return
    clearTimeout(this.#idleTimer)
    const owner = this.#owner
    const index = owner === undefined ? 0 : this.#queue.findIndex((job) => job.connection === owner)
    const [job] = index === -1 ? [] : this.#queue.splice(index, 1)
    if (job !== undefined) this.#run(this.#backend, job)
    else if (owner !== undefined) this.#expireWhenIdle(owner)
  }

  #run(backend: PgliteBackend, job: Job): void {
    this.#running = job
    const timer = setTimeout(() => backend.terminate(), this.#options.batchTimeoutMs)
    const finished = () => {
      clearTimeout(timer)
      if (this.#running === job) this.#running = undefined
    }
    backend
      .execute(job.bytes, (bytes) => job.connection.answer(bytes))
      .then(
        (status) => {
          finished()
          this.#status = status
          this.#owner = status === "I" ? undefined : job.connection
          this.#advance()
        },
        () => {
          finished()
          // A half answer leaves nobody knowing what the backend is at.
          backend.terminate()
        }
      )
  }

  #expireWhenIdle(owner: VirtualConnection): void {
    this.#idleTimer = setTimeout(
      () => owner.destroy(new Error("The transaction was idle for too long and was rolled back")),
      this.#options.idleInTransactionMs
    )
    this.#idleTimer.unref()
  }

  #crashed(backend: PgliteBackend, error: Error): void {
    if (this.#backend !== backend) return
    this.#backend = undefined
    if (this.#options.directory === undefined) this.#gone = error
    this.#breakConnections(error)
  }

  #breakConnections(error: Error): void {
    clearTimeout(this.#idleTimer)
    this.#queue.length = 0
    this.#owner = undefined
    this.#running = undefined
    this.#status = "I"
    for (const connection of [...this.#connections.values()]) connection.destroy(error)
  }
}
