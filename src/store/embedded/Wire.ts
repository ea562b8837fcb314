/**
 * The few messages of the Postgres wire protocol that must be told apart to share one backend among many connections.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */

/** What a client asked for: everything up to a Sync or a simple query is one batch. */
export type FrontendRequest =
  | { readonly type: "startup" }
  | { readonly type: "cancel"; readonly processId: number }
  | { readonly type: "terminate" }
  | {
      readonly type: "batch"
      readonly bytes: Uint8Array<ArrayBuffer>
      /** Names of the prepared statements that it parses. */
      readonly prepares: ReadonlyArray<string>
    }

const CANCEL_REQUEST = 80877102
const PARSE = "P".charCodeAt(0)
const QUERY = "Q".charCodeAt(0)
const SYNC = "S".charCodeAt(0)
const TERMINATE = "X".charCodeAt(0)

/** Cuts a client's bytes into requests, however they were split on the way. */
export class FrontendReader {
  #buffer: Buffer<ArrayBuffer> = Buffer.alloc(0)
  #started = false
  /** Where the next message of the batch in the making begins. */
  #offset = 0
  #prepares: Array<string> = []

  push(chunk: Uint8Array): Array<FrontendRequest> {
    this.#buffer = Buffer.concat([this.#buffer, chunk])
    const requests: Array<FrontendRequest> = []
    for (let request = this.#next(); request !== undefined; request = this.#next()) requests.push(request)
    return requests
  }

  #next(): FrontendRequest | undefined {
    if (!this.#started) return this.#readStartup()
    while (this.#buffer.length >= this.#offset + 5) {
      const type = this.#buffer[this.#offset]
      const end = this.#offset + 1 + this.#buffer.readInt32BE(this.#offset + 1)
      if (this.#buffer.length < end) return undefined
      if (type === PARSE) this.#notePrepared(this.#offset + 5)
      this.#offset = end
      if (type === TERMINATE) return this.#take({ type: "terminate" })
      if (type === SYNC || type === QUERY) {
        // A copy of its own, because it will be transferred to another thread.
        const bytes = Uint8Array.from(this.#buffer.subarray(0, end))
        return this.#take({ type: "batch", bytes, prepares: this.#prepares })
      }
    }
    return undefined
  }

  #readStartup(): FrontendRequest | undefined {
    if (this.#buffer.length < 8) return undefined
    const length = this.#buffer.readInt32BE(0)
    if (this.#buffer.length < length) return undefined
    const cancel = this.#buffer.readInt32BE(4) === CANCEL_REQUEST
    const processId = cancel ? this.#buffer.readInt32BE(8) : 0
    this.#offset = length
    this.#started = true
    return this.#take(cancel ? { type: "cancel", processId } : { type: "startup" })
  }

  #notePrepared(nameStart: number): void {
    const name = this.#buffer.toString("utf8", nameStart, this.#buffer.indexOf(0, nameStart))
    if (name !== "") this.#prepares.push(name)
  }

  #take<Request extends FrontendRequest>(request: Request): Request {
    this.#buffer = this.#buffer.subarray(this.#offset)
    this.#offset = 0
    this.#prepares = []
    return request
  }
}

const message = (type: string, ...parts: ReadonlyArray<Uint8Array>): Buffer<ArrayBuffer> => {
  const body = Buffer.concat(parts)
  const header = Buffer.alloc(5)
  header.write(type, 0, "latin1")
  header.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([header, body])
}

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

const cString = (text: string): Buffer => Buffer.from(`${text}\0`, "utf8")

/** `I` idle, `T` in a transaction, `E` in a failed one. */
export type TransactionStatus = "I" | "T" | "E"

const readyForQuery = (status: TransactionStatus): Buffer => message("Z", Buffer.from(status, "latin1"))

/** Lets a client in without a password, under this process id. */
export const greeting = (processId: number): Buffer =>
  Buffer.concat([message("R", int32(0)), message("K", int32(processId), int32(0)), readyForQuery("I")])

/** Tells a client that its statement was cancelled before it ran (SQLSTATE 57014). */
export const cancelled = (status: TransactionStatus): Buffer =>
  Buffer.concat([
    message(
      "E",
      cString("SERROR"),
      cString("VERROR"),
      cString("C57014"),
      cString("Mcanceling statement due to user request"),
      Buffer.from([0])
    ),
    readyForQuery(status)
  ])

/** A batch that forgets these prepared statements. */
export const closeStatements = (names: Iterable<string>): Uint8Array<ArrayBuffer> => {
  const closes = Array.from(names, (name) => message("C", Buffer.from("S", "latin1"), cString(name)))
  return Uint8Array.from(Buffer.concat([...closes, message("S")]))
}

/** A batch that rolls the open transaction back. */
export const rollback = (): Uint8Array<ArrayBuffer> => Uint8Array.from(message("Q", cString("ROLLBACK")))

/** The transaction status in a complete answer, which always ends with ReadyForQuery. */
export const statusOf = (answerEnd: Uint8Array): TransactionStatus | undefined => {
  const status = answerEnd[answerEnd.length - 1]
  if (answerEnd.length < 6 || answerEnd[answerEnd.length - 6] !== "Z".charCodeAt(0)) return undefined
  return status === 0x49 ? "I" : status === 0x54 ? "T" : status === 0x45 ? "E" : undefined
}
