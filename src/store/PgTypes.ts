import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"

const view = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const readInt8 = (bytes: Uint8Array, offset: number): Result.Result<number, PgTypes.CodecError> => {
  const value = Number(view(bytes).getBigInt64(offset))
  return Number.isSafeInteger(value)
    ? Result.succeed(value)
    : Result.fail(new PgTypes.CodecError({ message: `int8 ${value} is beyond what a number can hold` }))
}

/** The driver's types, but int8 as a number: all of ours stay below 2^53, and one that does not is an error. */
export const pgTypes = PgTypes.makeRegistry()
pgTypes.register<number | bigint>(PgTypes.OID.int8, {
  encode: (value) => {
    const bytes = new Uint8Array(8)
    view(bytes).setBigInt64(0, BigInt(value))
    return Result.succeed(bytes)
  },
  decode: (bytes) => readInt8(bytes, 0),
  read: (bytes, offset) => readInt8(bytes, offset)
})
