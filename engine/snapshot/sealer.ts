// Ids of tasks, sealed for the caller who made them: the upstream, the models and the provider's own id, encrypted and
// authenticated, so that any instance with the same keys finds the task again and nobody else's id opens.

import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto'

/** What a sealed id holds. */
export interface Task {
  upstream: string
  /** The name that the upstream knows the model by, and the one that the client used. */
  model: string
  requested: string
  /** The provider's id. */
  id: string
}

export interface Sealer {
  /** The same task and caller give the same text: letters, digits, `-` and `_`. */
  seal(task: Task, caller: string): string
  /** Nothing for what is no seal of these keys, or another caller's. */
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
      // The nonce comes of the content, so that an id stays the same; GCM may not see two contents under one nonce.
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
          // Another key's, or nobody's.
        }
      }
      return undefined
    },
  }
}
