// A client's socket: what the server gives a relay, and what it calls on the relay.

/** The client's end of a relay, as the server implements it. */
export interface ClientSocket {
  /** Returns false if the frame has to wait in the buffer. */
  send(data: Buffer, isBinary: boolean): boolean
  /** The bytes that wait in the buffer. */
  buffered(): number
  end(code: number, reason: string): void
}

/** Receives the frames of a client. */
export interface SocketRelay {
  /** The handshake is complete: frames may pass. */
  begin(client: ClientSocket): void
  fromClient(data: Buffer, isBinary: boolean): void
  /** The client got the pong that it asked for, or will. */
  clientPinged(): void
  /** The buffer towards the client is empty. */
  clientDrained(): void
  clientClosed(code: number, reason: string): void
}
