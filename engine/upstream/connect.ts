// Connections to upstreams. An error of one says whether the upstream may have closed it while it was idle: upstreams do so
// without a warning, also at the moment that a request is sent.

import buildConnector from 'undici/lib/core/connect.js'

const errors = new WeakSet<Error>()
const RESET: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE'])

/** Whether a connection that had brought bytes before was closed or reset. What is not HTTP is another kind of failure. */
export function mayHaveBeenIdle(error: Error): boolean {
  return errors.has(error)
}

/** Makes connections for a pool of HTTP/1.1. The engine's own deadline comes before the timeout. */
export function createConnector(): buildConnector.connector {
  const connect = buildConnector({ timeout: 60_000, allowH2: false })
  return (options, done) =>
    connect(options, (...result) => {
      const [, socket] = result
      socket?.on('error', error => {
        const isClosed = socket.readableEnded || RESET.has((error as { code?: unknown }).code)
        if (isClosed && socket.bytesRead > 0) errors.add(error)
      })
      done(...result)
    })
}
