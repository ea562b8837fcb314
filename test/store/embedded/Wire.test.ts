import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { FrontendReader, greeting, rollback, statusOf } from "../../../src/store/embedded/Wire.ts"

const STARTUP = Buffer.from([0, 0, 0, 8, 0, 3, 0, 0])
const message = (type: string, body: Buffer) => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}
const batch = (name: string, body: Uint8Array) =>
  Buffer.concat([
    message("P", Buffer.concat([Buffer.from(`${name}\0`), body])),
    message("B", Buffer.from(body)),
    message("S", Buffer.alloc(0))
  ])

const split = (bytes: Buffer, cuts: ReadonlyArray<number>) => {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end))
}

describe("The wire of the embedded database", () => {
  it("cuts a client's bytes into the same batches, however they are split on the way", () => {
    const batches = fc.array(fc.tuple(fc.constantFrom("", "one", "größe"), fc.uint8Array({ maxLength: 40 })))
    fc.assert(
      fc.property(batches, fc.array(fc.nat(), { maxLength: 12 }), (sent, cuts) => {
        const bytes = sent.map(([name, body]) => batch(name, body))
        const reader = new FrontendReader()
        const read = split(Buffer.concat([STARTUP, ...bytes]), cuts).flatMap((chunk) => reader.push(chunk))
        assert.deepStrictEqual(read, [
          { type: "startup" },
          ...sent.map(([name], index) => ({
            type: "batch" as const,
            bytes: Uint8Array.from(bytes[index]!),
            prepares: name === "" ? [] : [name]
          }))
        ])
      })
    )
  })

  it("knows a request to cancel and a goodbye", () => {
    const cancel = Buffer.from([0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 7, 0, 0, 0, 0])
    assert.deepStrictEqual(new FrontendReader().push(cancel), [{ type: "cancel", processId: 7 }])
    const reader = new FrontendReader()
    reader.push(STARTUP)
    assert.deepStrictEqual(reader.push(message("X", Buffer.alloc(0))), [{ type: "terminate" }])
  })

  it("reads the transaction status from the end of an answer, and only there", () => {
    assert.strictEqual(statusOf(greeting(1)), "I")
    assert.strictEqual(statusOf(Buffer.concat([rollback(), message("Z", Buffer.from("T"))])), "T")
    assert.strictEqual(statusOf(message("Z", Buffer.from("E"))), "E")
    assert.isUndefined(statusOf(rollback()))
    assert.isUndefined(statusOf(Buffer.from("I")))
  })
})
