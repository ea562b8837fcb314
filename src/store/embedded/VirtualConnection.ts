import { Duplex } from "node:stream"
import type { Multiplexer } from "./Multiplexer.ts"
import { FrontendReader, type FrontendRequest, greeting } from "./Wire.ts"

/** One client's end of the shared database: a byte stream that speaks the Postgres protocol. */
export class VirtualConnection extends Duplex {
  readonly processId: number
  /** Names of the prepared statements that it left on the backend. */
  readonly prepared = new Set<string>()
  readonly #multiplexer: Multiplexer
  readonly #reader = new FrontendReader()

  constructor(multiplexer: Multiplexer, processId: number) {
    super()
    this.#multiplexer = multiplexer
    this.processId = processId
  }

  /** Hands a piece of the backend's answer to the client, unless it has left. */
  answer(bytes: Uint8Array): void {
    if (!this.destroyed) this.push(bytes)
  }

  override _read(): void {}

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    for (const request of this.#reader.push(chunk)) this.#handle(request)
    done()
  }

  override _final(done: (error?: Error | null) => void): void {
    done()
    this.destroy()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#multiplexer.release(this)
    done(error)
  }

  #handle(request: FrontendRequest): void {
    switch (request.type) {
      case "startup":
        this.answer(greeting(this.processId))
        return
      case "cancel":
        this.#multiplexer.cancel(request.processId)
        this.destroy()
        return
      case "terminate":
        this.destroy()
        return
      case "batch":
        for (const name of request.prepares) this.prepared.add(name)
        this.#multiplexer.submit(this, request.bytes)
    }
  }
}
