// Ports for those who must know theirs before they listen.

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** How often a port is drawn before the system chooses one. */
const MOST_TRIES = 20
const LOWEST_PORT = 16_384
/** Where the range of outgoing connections begins on Linux; elsewhere it is higher. */
const EPHEMERAL = 32_768

/**
 * A free port: the wanted one, or any for 0. It is bound a moment later. A port from the range that systems give to
 * outgoing connections may be taken by then, so any other is tried first. Throws if the wanted one is taken.
 */
export async function freePort(host = '127.0.0.1', port = 0): Promise<number> {
  if (port !== 0) return probe(host, port)
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const found = await probe(host, randomInt(LOWEST_PORT, EPHEMERAL)).catch(() => undefined)
    if (found !== undefined) return found
  }
  return probe(host, 0)
}

function probe(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, () => {
      const bound = (server.address() as { port: number }).port
      server.close(() => resolve(bound))
    })
  })
}
