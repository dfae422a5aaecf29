// Connections to upstreams. An error of one says whether the upstream may have closed it while it was idle: upstreams do so
// without a warning, also at the moment that a request is sent.

import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import buildConnector from 'undici/lib/core/connect.js'

const SENT = Symbol('requests that were sent')
type Counted = Socket & { [SENT]?: number }

const errors = new WeakSet<Error>()
const RESET: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE'])

// The only place where the HTTP client tells which connection a request takes.
subscribe('undici:client:sendHeaders', message => {
  const { socket } = message as { socket: Counted }
  socket[SENT] = (socket[SENT] ?? 0) + 1
})

/** Whether a connection that had served before was closed or reset. What is not HTTP is another kind of failure. */
export function mayHaveBeenIdle(error: Error): boolean {
  return errors.has(error)
}

/** Makes connections for a pool of HTTP/1.1. The engine's own deadline comes before the timeout. */
export function createConnector(): buildConnector.connector {
  const connect = buildConnector({ timeout: 60_000, allowH2: false })
  return (options, done) =>
    connect(options, (...result) => {
      const socket = result[1] as Counted | null
      socket?.on('error', error => {
        const isClosed = socket.readableEnded || RESET.has((error as { code?: unknown }).code)
        if (isClosed && (socket[SENT] ?? 0) > 1) errors.add(error)
      })
      done(...result)
    })
}
