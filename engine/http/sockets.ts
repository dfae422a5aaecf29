// A client's socket: what the server gives to a relay, and what a relay takes of it.

/** The client's end, as the server has it. */
export interface ClientSocket {
  /** False if the frame waits behind others. */
  send(data: Buffer, isBinary: boolean): boolean
  /** Bytes that wait. */
  buffered(): number
  end(code: number, reason: string): void
}

/** What is done with the frames of a client. */
export interface SocketRelay {
  /** The handshake is over: frames may pass. */
  begin(client: ClientSocket): void
  fromClient(data: Buffer, isBinary: boolean): void
  /** What waited for the client has left. */
  clientDrained(): void
  clientClosed(code: number, reason: string): void
}
