// Handlers of a stream's events: they pass or translate them.

import type { GatewayError } from '../../core/errors.js'

/** Where a handler writes the client's events. */
export interface Output {
  write(chunk: Buffer | string): void
  /** The answer is proven to be complete. */
  end(): void
  fail(error: GatewayError): void
}

export interface EventHandler {
  /** Receives a block of whole events. */
  block(block: Buffer): void
  /** The body ended without an event that proves the end. */
  bodyEnd(): void
}
