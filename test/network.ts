// A network between a client and a server that drops all in silence: connections that are open stay so, and no answer comes.

import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net'

export interface Network {
  port: number
  /** Drops all that comes over connections that are open, and over new ones until `heal`. */
  cut(): void
  /** From now on new connections pass; those of before stay silent. */
  heal(): void
  close(): void
}

/** A network to a server, at a path or a port. */
export function startNetwork(to: NetConnectOpts): Promise<Network> {
  let isCut = false
  const open = new Set<Socket>()
  const server = createServer(client => {
    client.on('error', () => undefined)
    if (isCut) return
    const upstream = connect(to)
    upstream.on('error', () => client.destroy())
    upstream.on('close', () => client.destroy())
    client.on('close', () => upstream.destroy())
    client.pipe(upstream).pipe(client)
    open.add(client)
  })
  return new Promise(done =>
    server.listen(0, '127.0.0.1', () =>
      done({
        port: (server.address() as AddressInfo).port,
        cut() {
          isCut = true
          // Neither side learns of it.
          for (const client of open) {
            client.unpipe()
            client.removeAllListeners('data')
            client.on('data', () => undefined)
          }
        },
        heal() {
          isCut = false
        },
        close() {
          server.close()
          for (const client of open) client.destroy()
        },
      }),
    ),
  )
}
