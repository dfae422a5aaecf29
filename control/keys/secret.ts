// Generates secrets, and their hashes: what the store keeps of them, and what may be shown.

import { createHash, randomInt } from 'node:crypto'
import { checksum, DIGITS, ID_LENGTH, KEY_PREFIX, SECRET_LENGTH, TOKEN_PREFIX } from '../../engine/control/key-form.js'

function digits(count: number): string {
  let text = ''
  for (let index = 0; index < count; index++) text += DIGITS[randomInt(DIGITS.length)]
  return text
}

export const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A public id for addresses and logs: a prefix and 12 random characters. */
export function newPublicId(prefix: string): string {
  return `${prefix}_${digits(ID_LENGTH)}`
}

/** Whether a text has the form of a public id with a prefix: nothing that is found by such an id may have it as its name. */
export const isPublicId = (text: string, prefix: string): boolean => new RegExp(`^${prefix}_[0-9A-Za-z]{${ID_LENGTH}}$`).test(text)

/** A key for callers. It contains the id of its first secret, which may appear in logs. */
export function newKey(): string {
  const text = KEY_PREFIX + digits(ID_LENGTH) + digits(SECRET_LENGTH)
  return text + checksum(text)
}

/** A code that works once. */
export function newCode(): string {
  return digits(SECRET_LENGTH)
}

/** A token for the admin API. */
export function newToken(): string {
  return TOKEN_PREFIX + digits(SECRET_LENGTH + ID_LENGTH)
}
