// An answer that is one plain text, which is looked at before the client gets it. The last of it waits until so much has
// followed that nothing which begins there can still grow.

import { StringDecoder } from 'node:string_decoder'
import { asGatewayError, type GatewayError } from '../../core/errors.js'
import type { Sink } from '../../core/exchange.js'
import { CONTEXT, type Redactor } from '../redactor.js'

export class TextSink implements Sink {
  private readonly decoder = new StringDecoder('utf8')
  /** What is kept of the text, and how much of it has been handed on. */
  private kept = ''
  private decided = 0
  private isBroken = false

  /** @param fail ends the exchange with what the client is told */
  constructor(
    private readonly own: Sink,
    private readonly redactor: Redactor,
    private readonly fail: (error: GatewayError) => void,
  ) {}

  write(chunk: Buffer | string): boolean {
    this.kept += typeof chunk === 'string' ? chunk : this.decoder.write(chunk)
    const isDue = this.redactor.isDue(this.kept.length - this.decided)
    const text = isDue ? this.decide(this.kept.length - this.redactor.window) : ''
    return text === '' || this.own.write(text)
  }

  end(chunk?: Buffer | string): void {
    if (chunk !== undefined) this.write(chunk)
    this.kept += this.decoder.end()
    const text = this.decide(this.kept.length)
    if (!this.isBroken) this.own.end(text)
  }

  destroy(): void {
    this.own.destroy()
  }

  onDrain(resume: () => void): void {
    this.own.onDrain(resume)
  }

  /** The text up to an offset, as the client may have it. */
  private decide(to: number): string {
    if (this.isBroken) return ''
    const { kept, redactor } = this
    let text = ''
    let at = this.decided
    try {
      for (const { start, end, pattern } of redactor.parts(kept, at, to)) {
        redactor.count(pattern)
        text += kept.slice(at, start) + pattern.mask
        at = end
      }
    } catch (thrown) {
      // A text has no word for a failure: it is broken off.
      this.isBroken = true
      this.kept = ''
      this.fail(asGatewayError(thrown))
      this.own.destroy()
      return ''
    }
    if (at < to) {
      text += kept.slice(at, to)
      at = to
    }
    const rest = Math.max(0, at - CONTEXT)
    this.kept = kept.slice(rest)
    this.decided = at - rest
    return text
  }
}
