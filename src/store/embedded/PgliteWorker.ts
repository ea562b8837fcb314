import { parentPort, workerData } from "node:worker_threads"
import { PGlite } from "@electric-sql/pglite"
import { vector } from "@electric-sql/pglite-pgvector"

/** What the thread is started with: a directory, or nothing for a database in memory. */
export interface PgliteWorkerData {
  readonly directory: string | undefined
  /** A data directory as an uncompressed tar, to start the database from. */
  readonly snapshot: Uint8Array<ArrayBuffer> | undefined
}

export type PgliteRequest =
  | { readonly type: "execute"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly type: "snapshot" }
  | { readonly type: "close" }

export type PgliteEvent =
  | { readonly type: "ready" }
  | { readonly type: "answer"; readonly bytes: Uint8Array<ArrayBuffer>; readonly last: boolean }
  | { readonly type: "snapshot"; readonly bytes: Uint8Array<ArrayBuffer> }

const FLUSH_BYTES = 256 * 1024

const port = parentPort!
const { directory, snapshot } = workerData as PgliteWorkerData
const send = (event: PgliteEvent, transfer: Array<ArrayBuffer> = []) => port.postMessage(event, transfer)

const database = await PGlite.create({
  ...(directory === undefined ? {} : { dataDir: directory }),
  ...(snapshot === undefined ? {} : { loadDataDir: new Blob([snapshot]) }),
  extensions: { vector },
  relaxedDurability: false
})

/** Runs one batch; its answer goes out in pieces, so that a large one is never held twice. */
const execute = async (bytes: Uint8Array) => {
  let pieces: Array<Uint8Array> = []
  let size = 0
  const flush = (last: boolean) => {
    const answer = new Uint8Array(size)
    let offset = 0
    for (const piece of pieces) {
      answer.set(piece, offset)
      offset += piece.length
    }
    pieces = []
    size = 0
    send({ type: "answer", bytes: answer, last }, [answer.buffer])
  }
  await database.execProtocolRawStream(bytes, {
    onRawData: (data) => {
      // The data is a view of the database's own memory, which the next message overwrites.
      pieces.push(data.slice())
      size += data.length
      if (size >= FLUSH_BYTES) flush(false)
    }
  })
  flush(true)
}

const handle = async (request: PgliteRequest) => {
  switch (request.type) {
    case "execute":
      return execute(request.bytes)
    case "snapshot": {
      const tar = new Uint8Array(await (await database.dumpDataDir("none")).arrayBuffer())
      return send({ type: "snapshot", bytes: tar }, [tar.buffer])
    }
    case "close":
      await database.close()
      return port.close()
  }
}

port.on("message", (request: PgliteRequest) => {
  // A failure here is the engine's, not the statement's: the thread ends and its owner sees why.
  handle(request).catch((cause: unknown) => {
    setImmediate(() => {
      throw cause
    })
  })
})
send({ type: "ready" })
