// The form of the keys that Sluice issues: `sk-slc_`, an id of 12 characters, a secret of 32, and a checksum of 6. The
// checksum finds a mistyped key without a lookup. A token of the admin API is `sk-adm_` and 44 characters. Clients put both
// where they do not belong, so their form is also what they are recognised by in what Sluice writes.

import { crc32 } from 'node:zlib'

export const KEY_PREFIX = 'sk-slc_'
export const TOKEN_PREFIX = 'sk-adm_'
/** What both begin with: to look for it alone is cheaper, and most texts do not have it. */
const ISSUED_PREFIX = 'sk-'
export const ID_LENGTH = 12
export const SECRET_LENGTH = 32
const CHECK_LENGTH = 6
const KEY_LENGTH = KEY_PREFIX.length + ID_LENGTH + SECRET_LENGTH + CHECK_LENGTH

export const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A key or a token, which may have been cut. The id of a key is no secret, and tells whose key it is. */
const ISSUED = new RegExp(`(${KEY_PREFIX}[${DIGITS}]{${ID_LENGTH}}|${TOKEN_PREFIX})[${DIGITS}]+`, 'g')

/** A text without the secrets of our keys and tokens. */
export function maskIssued(text: string): string {
  return text.includes(ISSUED_PREFIX) ? text.replaceAll(ISSUED, '$1***') : text
}

/** The same for every text in a value that JSON can hold. */
export function maskIssuedIn<Value>(value: Value): Value {
  const text = JSON.stringify(value)
  const masked = maskIssued(text)
  return masked === text ? value : (JSON.parse(masked) as Value)
}

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
