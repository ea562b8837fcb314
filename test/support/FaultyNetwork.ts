import { createConnection, createServer, type Server, type Socket } from "node:net"
import { Effect } from "effect"

/** The end of a Postgres server's answer outside of a transaction: whatever was asked for is committed. */
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** A TCP proxy in front of a Postgres that can fail as networks do. */
export class FaultyNetwork {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #mode: "up" | "refusing" | "silent" = "up"
  #swallowing = false

  constructor(target: URL) {
    this.#server = createServer((client) => {
      if (this.#mode === "refusing") return void client.destroy()
      const upstream = createConnection({ host: target.hostname, port: Number(target.port) })
      for (const socket of [client, upstream]) this.#sockets.add(socket.on("error", () => {}))
      client.on("data", (bytes) => this.#mode === "up" && upstream.write(bytes)).on("close", () => upstream.destroy())
      upstream.on("data", (bytes) => this.#answer(client, bytes)).on("close", () => client.destroy())
    }).listen(0, "127.0.0.1")
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === "object" && address !== null ? address.port : 0
  }

  /** Commits what is asked for next, and cuts the connection instead of saying so. */
  loseNextAnswer(): void {
    this.#swallowing = true
  }

  /** Cuts all connections and refuses new ones. */
  refuse(): void {
    this.#mode = "refusing"
    this.#cut()
  }

  /** Passes nothing on, and leaves connections open. */
  fallSilent(): void {
    this.#mode = "silent"
  }

  /** Ends every fault. */
  recover(): void {
    if (this.#mode === "silent") this.#cut()
    this.#mode = "up"
  }

  close(): void {
    this.#server.close()
    this.#cut()
  }

  #answer(client: Socket, bytes: Buffer): void {
    if (this.#mode !== "up") return
    if (!this.#swallowing) return void client.write(bytes)
    if (!bytes.includes(READY_FOR_QUERY)) return
    this.#swallowing = false
    client.destroy()
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }
}

/** Such a proxy, for as long as the scope lives. */
export const startFaultyNetwork = (target: URL) =>
  Effect.acquireRelease(
    Effect.sync(() => new FaultyNetwork(target)),
    (network) => Effect.sync(() => network.close())
  )
