// Seals ids of tasks for the caller who made them: encrypts and authenticates the upstream, the models and the provider's
// own id, so that any instance with the same keys finds the task again, and no other caller can open the id.

import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto'

/** The content of a sealed id. */
export interface Task {
  upstream: string
  /** The upstream's name of the model, and the client's. */
  model: string
  requested: string
  /** The provider's id. */
  id: string
}

export interface Sealer {
  /** The same task and caller always give the same text: letters, digits, `-` and `_`. */
  seal(task: Task, caller: string): string
  /** Undefined for a text that these keys did not seal, or that is another caller's. */
  open(text: string, caller: string): Task | undefined
}

const NONCE = 12
const TAG = 16

interface SealKey {
  cipher: Buffer
  nonce: Buffer
}

/** The first key seals, all of them open. */
export function createSealer(secrets: readonly string[]): Sealer {
  const keys = secrets.map(
    (secret): SealKey => ({
      cipher: createHash('sha256').update(`sluice seal cipher ${secret}`).digest(),
      nonce: createHash('sha256').update(`sluice seal nonce ${secret}`).digest(),
    }),
  )
  return {
    seal(task, caller) {
      const key = keys[0] as SealKey
      const text = JSON.stringify([task.upstream, task.model, task.requested, task.id])
      // The nonce is derived from the content, so that an id is stable; GCM must not see two contents with one nonce.
      const nonce = createHmac('sha256', key.nonce).update(`${caller}\n${text}`).digest().subarray(0, NONCE)
      const cipher = createCipheriv('aes-256-gcm', key.cipher, nonce).setAAD(Buffer.from(caller))
      return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url')
    },
    open(text, caller) {
      const bytes = Buffer.from(text, 'base64url')
      if (bytes.length <= NONCE + TAG || bytes.toString('base64url') !== text) return undefined
      for (const key of keys) {
        try {
          const cipher = createDecipheriv('aes-256-gcm', key.cipher, bytes.subarray(0, NONCE))
            .setAAD(Buffer.from(caller))
            .setAuthTag(bytes.subarray(-TAG))
          const plain = cipher.update(bytes.subarray(NONCE, -TAG), undefined, 'utf8') + cipher.final('utf8')
          const [upstream, model, requested, id] = JSON.parse(plain) as [string, string, string, string]
          return { upstream, model, requested, id }
        } catch {
          // Another key sealed it, or none.
        }
      }
      return undefined
    },
  }
}
