// A second target is sent a share of a model's requests, to see how it fares. Nobody waits for its answers: each is read and
// thrown away like an answer to a client that is always ready, so that its usage and its failures are known.

import { now } from '../core/deadlines.js'
import { asGatewayError, GatewayError } from '../core/errors.js'
import type { Exchange, LogEntry, Sink } from '../core/exchange.js'
import { describeCause } from '../core/source-map.js'
import type { Mirror, Snapshot } from '../snapshot/model.js'
import type { ClientRequest } from './attempt.js'
import { reply } from './reply.js'
import { send } from './send.js'

/** Sends a request to the mirror of its model, if it is its turn and there is room; gives at once, and never throws. */
export function mirror(request: ClientRequest, counter: Mirror): void {
  const { target, share, most } = counter
  const binding = target.bindings.get(request.route.dialect)
  if (binding === undefined || counter.active >= most || request.input.form || Math.random() >= share) return
  const exchange = new MirrorExchange(request.exchange, request.snapshot, counter)
  // Without a model nothing moves on, and nothing is asked twice. What the caller holds of limits and budgets pays for one answer.
  send({ ...request, exchange, choice: { bindings: [binding] }, lease: undefined, hold: undefined })
    .then(reply)
    .catch(error => exchange.endWith(asGatewayError(error)))
}

/** The same request with a log of its own, and a client that takes everything. */
class MirrorExchange implements Exchange {
  readonly method: string
  readonly path: string
  readonly query: Exchange['query']
  readonly headers: Exchange['headers']
  readonly params: Exchange['params']
  readonly id: string
  readonly began = now()
  readonly startedAt = Date.now()
  readonly log: LogEntry
  readonly isAborted = false
  private isOver = false
  private readonly overs: (() => void)[] = []

  constructor(
    { id, method, path, query, headers, params, log }: Exchange,
    private readonly snapshot: Snapshot,
    private readonly counter: Mirror,
  ) {
    this.id = `${id}-mirror`
    this.method = method
    this.path = path
    this.query = query
    this.headers = headers
    this.params = params
    const { route, model, modelPattern, isKnownModel, bytesIn } = log
    // It is the operator's own: no key has asked for it.
    this.log = {
      status: 0,
      bytesIn,
      bytesOut: 0,
      attempts: 0,
      isMirror: true,
      // What it costs is the operator's.
      times: 0,
      ...(route && { route }),
      ...(model !== undefined && { model }),
    }
    if (modelPattern !== undefined) this.log.modelPattern = modelPattern
    if (isKnownModel) this.log.isKnownModel = true
    counter.active++
    snapshot.entered()
  }

  over(): void {
    if (this.isOver) return
    this.isOver = true
    this.counter.active--
    for (const run of this.overs) run()
    this.snapshot.onMirrored?.(this, now() - this.began)
    this.snapshot.left()
  }

  endWith(failure: GatewayError): void {
    const { kind, message, cause } = failure
    this.log.error ??= { kind, message, ...(cause !== undefined && { cause: describeCause(cause) }) }
    if (this.log.status === 0) this.log.status = FAILED
    else this.log.isPartial = true
    this.over()
  }

  send(status: number, _headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    this.log.status = status
    this.log.bytesOut = Buffer.byteLength(body)
    this.log.firstByte = now() - this.began
    this.over()
  }

  open(status: number): Sink {
    const { log } = this
    log.status = status
    const count = (chunk: Buffer | string): void => {
      log.firstByte ??= now() - this.began
      log.bytesOut += Buffer.byteLength(chunk)
    }
    return {
      write: chunk => {
        count(chunk)
        return true
      },
      end: chunk => {
        if (chunk !== undefined) count(chunk)
        this.over()
      },
      destroy: () => {
        log.isPartial = true
        this.over()
      },
      onDrain: () => undefined,
    }
  }

  onOver(run: () => void): void {
    if (this.isOver) run()
    else this.overs.push(run)
  }

  /** Nobody goes away. */
  onAbort(): void {}

  onEnding(): void {}

  address(): string {
    return ''
  }

  body(): Promise<Buffer> {
    return Promise.reject(new GatewayError('internal', 'A mirrored request has been read already.'))
  }

  receive(): void {}

  pause(): void {}

  resume(): void {}
}

/** What stands for a failure in the log: nobody was told a status. */
const FAILED = 502
