// Kept answers at rest: compressed, and sealed with AES-256-GCM for the caller and the id that they belong to.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'

export interface Seal {
  /** `owner` is needed, beside the key, to open it again. */
  close(text: string, owner: string): Promise<string>
  /** Undefined if the key or the owner differs. */
  open(sealed: string, owner: string): Promise<string | undefined>
}

// In other threads: for a long answer they take half a second, in which keys and money must not wait.
const [deflate, inflate] = [promisify(deflateRaw), promisify(inflateRaw)]

const NONCE = 12
const TAG = 16

/**
 * The first secret seals, all of them open. Without secrets, the key is read from a file, or created in it for the user
 * alone.
 */
export function createSeal(secrets: readonly string[] | undefined, file: string): Seal {
  const keys = (secrets ?? [keyIn(file)]).map(secret => createHash('sha256').update(`sluice kept ${secret}`).digest())
  return {
    async close(text, owner) {
      const plain = await deflate(text)
      const nonce = randomBytes(NONCE)
      const cipher = createCipheriv('aes-256-gcm', keys[0] as Buffer, nonce).setAAD(Buffer.from(owner))
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64')
    },
    async open(sealed, owner) {
      const bytes = Buffer.from(sealed, 'base64')
      for (const key of keys) {
        try {
          const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE))
            .setAAD(Buffer.from(owner))
            .setAuthTag(bytes.subarray(-TAG))
          const plain = Buffer.concat([cipher.update(bytes.subarray(NONCE, -TAG)), cipher.final()])
          return (await inflate(plain)).toString('utf8')
        } catch {
          // Another key sealed it.
        }
      }
      return undefined
    },
  }
}

/** An empty file is what a full disk left of an attempt: nothing may be sealed with what everybody knows. */
function keyIn(file: string): string {
  const known = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (known !== '') return known
  const key = randomBytes(32).toString('hex')
  const part = `${file}.part`
  writeFileSync(part, key, { mode: 0o600 })
  renameSync(part, file)
  return key
}
