// Connections to upstreams. An error of one says whether the connection had brought bytes before: only such a connection can
// have been idle, and upstreams close idle connections without a warning.

import buildConnector from 'undici/lib/core/connect.js'

const errors = new WeakSet<Error>()

/** Whether a connection that had brought bytes before failed with this error. */
export function wasUsedBefore(error: Error): boolean {
  return errors.has(error)
}

/** Makes connections for a pool of HTTP/1.1. The engine's own deadline comes before the timeout. */
export function createConnector(): buildConnector.connector {
  const connect = buildConnector({ timeout: 60_000, allowH2: false })
  return (options, done) =>
    connect(options, (...result) => {
      const [, socket] = result
      socket?.on('error', error => {
        if (socket.bytesRead > 0) errors.add(error)
      })
      done(...result)
    })
}
