// How much one process takes on at a time, where the operator does not say: what the machine gives.

import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'

export interface Capacity {
  /** Connections of clients that are open at a time. */
  connections: number
  /** What the bodies of all requests under way hold together: bytes. */
  bodies: number
}

/** Descriptors for logs, temporary files, the listening socket and what else a process opens. */
const OWN_DESCRIPTORS = 64
const MOST_BODIES = 1024 ** 3

export function usualCapacity(): Capacity {
  // Each connection may need one more to a provider.
  const connections = Math.max(16, Math.floor((openFiles() - OWN_DESCRIPTORS) / 2))
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  return { connections, bodies: Math.min(MOST_BODIES, Math.floor(memory / 4)) }
}

/** How many descriptors this process may have; where nothing tells, what is usual. */
function openFiles(): number {
  try {
    const soft = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
    return Number.isFinite(soft) ? soft : 1024
  } catch {
    return 1024
  }
}
