// A workaround for a fault of uWebSockets.js in upgrades that happen after the request's callback.
//
// Such an upgrade has to run inside `cork`, and `cork` then checks whether the answer that it has just sent asked to close
// the connection. It recognises the answer by its memory address: if the socket's memory grew in place, the library reads
// the socket's data as the answer's data and closes about one in a thousand new sockets at once
// (uNetworking/uWebSockets#1928; #1929 repairs it, but no build for Node 20 has it). A `cork` inside the cork of another
// socket does nothing by itself. So the gateway opens a spare socket to itself and uses its cork.

import uws, { type WebSocket as ServerSocket, type us_listen_socket } from 'uWebSockets.js'
import { WebSocket } from 'ws'

/** Milliseconds that opening the spare socket may take, also on a busy machine. */
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

  /** Resolves when the spare socket is open, or cannot be opened. The first call opens it. */
  ready(): Promise<void> {
    this.made ??= new Promise(resolve => {
      this.app.listen('127.0.0.1', 0, listening => {
        this.listening = listening
        if (!listening) return resolve()
        const done = (): void => {
          resolve()
          if (this.listening !== listening) return
          this.deafen()
          // The next call tries again.
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

  /**
   * Runs `work` inside the cork of the spare socket, which `work` does not use. Without a spare socket most upgrades still
   * succeed.
   */
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
