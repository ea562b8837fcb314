import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { crc32 } from "node:zlib"
import { Option, Redacted } from "effect"
import { KeyId } from "../domain/Ids.ts"

/**
 * An API key in the hand of its owner: `sl_<keyId>_<secret><crc>`. The checksum tells a mistyped key from a wrong one
 * without asking the database, and lets secret scanners recognise keys.
 */

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const KEY_PATTERN = /^sl_([0-9A-Za-z]{12})_([0-9A-Za-z]{32})([0-9a-f]{8})$/

/** A key that the operator chose (`SLUICE_BOOTSTRAP_KEY`) in a form of their own goes by this id. */
const CHOSEN_KEY_ID = KeyId.make("bootstrap")
const CHOSEN_KEY_PATTERN = /^[\x21-\x7e]{16,255}$/

/** `length` letters and digits, each from 62 with equal chance. */
const randomText = (length: number): string => {
  let text = ""
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 in a byte; what is above would make some letters likelier.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62]
    }
  }
  return text
}

const checksum = (keyId: string, secret: string): string => crc32(`sl_${keyId}_${secret}`).toString(16).padStart(8, "0")

/** A new key: 190 bits of chance. */
export const generate = (): Redacted.Redacted<string> => {
  const keyId = randomText(12)
  const secret = randomText(32)
  return Redacted.make(`sl_${keyId}_${secret}${checksum(keyId, secret)}`)
}

/** The id under which a key is stored; `None` when the text cannot be a key. */
export const keyId = (key: Redacted.Redacted<string>): Option.Option<KeyId> => {
  const text = Redacted.value(key)
  const match = KEY_PATTERN.exec(text)
  if (match) return checksum(match[1]!, match[2]!) === match[3] ? Option.some(KeyId.make(match[1]!)) : Option.none()
  return !text.startsWith("sl_") && CHOSEN_KEY_PATTERN.test(text) ? Option.some(CHOSEN_KEY_ID) : Option.none()
}

/** What is stored of a key: HMAC-SHA-256 under the installation's secret. */
export const hmac = (key: Redacted.Redacted<string>, pepper: Redacted.Redacted<Uint8Array>): Uint8Array =>
  createHmac("sha256", Redacted.value(pepper)).update(Redacted.value(key)).digest()

/** Makes keys: the secret for its owner, and what is stored of it. */
export const issue = (pepper: Redacted.Redacted<Uint8Array>) => () => {
  const secret = generate()
  return { secret, record: { id: Option.getOrThrow(keyId(secret)), secretHmac: hmac(secret, pepper) } }
}

/** Compares in constant time. */
export const matches = (stored: Uint8Array, presented: Uint8Array): boolean =>
  stored.length === presented.length && timingSafeEqual(stored, presented)
