// The form of the keys that Sluice issues: `sk-slc_`, an id of 12 characters, a secret of 32, and a checksum of 6. The
// checksum finds a mistyped key without a lookup.

import { crc32 } from 'node:zlib'

export const KEY_PREFIX = 'sk-slc_'
export const ID_LENGTH = 12
export const SECRET_LENGTH = 32
const CHECK_LENGTH = 6
const KEY_LENGTH = KEY_PREFIX.length + ID_LENGTH + SECRET_LENGTH + CHECK_LENGTH

export const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** CRC-32 of a text as 6 digits in base 62. */
export function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let count = 0; count < CHECK_LENGTH; count++) {
    digits = DIGITS[rest % DIGITS.length] + digits
    rest = Math.floor(rest / DIGITS.length)
  }
  return digits
}

/** Whether a text begins like one of our keys but is not a valid one. */
export function isMistyped(text: string): boolean {
  if (!text.startsWith(KEY_PREFIX)) return false
  return text.length !== KEY_LENGTH || checksum(text.slice(0, -CHECK_LENGTH)) !== text.slice(-CHECK_LENGTH)
}
