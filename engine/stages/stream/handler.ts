// How a stream's events are handled: by passing them, or by translating them.

import type { GatewayError } from '../../core/errors.js'

/** Where a handler puts what the client is to get. */
export interface Output {
  write(chunk: Buffer | string): void
  /** The answer is proven to be complete. */
  end(): void
  fail(error: GatewayError): void
}

export interface EventHandler {
  /** Takes a block of whole events. */
  block(block: Buffer): void
  /** The body is over without an event that proves the end. */
  bodyEnd(): void
}
