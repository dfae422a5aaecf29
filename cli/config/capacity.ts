// The default capacity of a process, from the resources of the machine.

import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'

export interface Capacity {
  /** Client connections at once. */
  connections: number
  /** The memory for the bodies of all requests under way: bytes. */
  bodies: number
}

/** File descriptors for logs, temporary files, the listening socket and other files of the process. */
const OWN_DESCRIPTORS = 64
const MOST_BODIES = 1024 ** 3

export function usualCapacity(): Capacity {
  // Each client connection may need one more to a provider.
  const connections = Math.max(16, Math.floor((openFiles() - OWN_DESCRIPTORS) / 2))
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  return { connections, bodies: Math.min(MOST_BODIES, Math.floor(memory / 4)) }
}

/** The limit of file descriptors of this process; a usual value if it is unknown. */
function openFiles(): number {
  try {
    const soft = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
    return Number.isFinite(soft) ? soft : 1024
  } catch {
    return 1024
  }
}
