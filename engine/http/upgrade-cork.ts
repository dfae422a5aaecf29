// A way around a fault of the server's library, for requests that become sockets some time after their callback.
//
// Such an upgrade has to stand inside `cork`, and `cork` then looks whether the answer that it has just sent asked for
// the connection to be closed. Whether there still is an answer it tells by its address: where the socket's memory
// grew in place, what belongs to the socket is read as what belonged to the answer, and about one in a thousand new
// sockets is closed at once (uNetworking/uWebSockets#1928, mended by #1929, which no build for Node 20 has). A `cork`
// inside the cork of another socket does nothing of its own. So there is another socket, to ourselves, for its cork.

import uws, { type WebSocket as ServerSocket, type us_listen_socket } from 'uWebSockets.js'
import { WebSocket } from 'ws'

/** Milliseconds that a socket to ourselves may take, also where the machine is busy with something else. */
const PATIENCE = 10_000

export class SpareCork {
  private readonly app = uws.App()
  private socket: ServerSocket<unknown> | undefined
  private client: WebSocket | undefined
  private listening: us_listen_socket | false = false
  private made: Promise<void> | undefined

  constructor() {
    this.app.ws('/*', {
      idleTimeout: 0,
      maxPayloadLength: 1,
      open: socket => {
        this.socket = socket
      },
      close: socket => {
        if (socket !== this.socket) return
        this.socket = undefined
        this.made = undefined
      },
    })
  }

  /** Resolves when there is a socket, which is made when it is first asked for, or when there can be none. */
  ready(): Promise<void> {
    this.made ??= new Promise(resolve => {
      this.app.listen('127.0.0.1', 0, listening => {
        this.listening = listening
        if (!listening) return resolve()
        const done = (): void => {
          resolve()
          if (this.listening !== listening) return
          this.deafen()
          // The next one tries again.
          if (this.socket === undefined) this.made = undefined
        }
        this.client = new WebSocket(`ws://127.0.0.1:${uws.us_socket_local_port(listening)}`, {
          handshakeTimeout: PATIENCE,
          perMessageDeflate: false,
        })
        this.client.on('error', () => undefined)
        this.client.once('open', done).once('close', done)
      })
    })
    return this.made
  }

  /** Calls `work` while a socket is corked that `work` has nothing to do with; without one, most upgrades still go well. */
  around(work: () => void): void {
    if (this.socket) this.socket.cork(work)
    else work()
  }

  close(): void {
    this.deafen()
    this.client?.terminate()
    this.app.close()
  }

  private deafen(): void {
    if (this.listening) uws.us_listen_socket_close(this.listening)
    this.listening = false
  }
}
