// Sends a share of a model's requests to a second target, to compare it. No client waits for these answers: each is read
// and thrown away as if for a client that is always ready, so that usage and failures are known.

import type { Copies } from '../balance/registry.js'
import { now } from '../core/deadlines.js'
import { asGatewayError, GatewayError } from '../core/errors.js'
import type { Exchange, LogEntry, Sink } from '../core/exchange.js'
import { failureOf } from '../core/log.js'
import type { Mirror, Snapshot } from '../snapshot/model.js'
import type { ClientRequest } from './attempt.js'
import { failover } from './failover.js'
import { reply } from './reply.js'
import { send } from './send.js'

/** Sends a request to its model's mirror if its turn has come and there is room. Returns at once, and never throws. */
export function mirror(request: ClientRequest, counter: Mirror): void {
  const { target, share, most, copies } = counter
  const binding = target.bindings.get(request.route.dialect)
  if (binding === undefined || copies.active >= most || request.input.form || Math.random() >= share) return
  const exchange = new MirrorExchange(request.exchange, request.snapshot, copies)
  // Without a model there is no fail-over and no retry. The caller's limits and budgets pay for one answer only.
  failover({ ...request, exchange, choice: { bindings: [binding] }, lease: undefined, hold: undefined }, [binding], send)
    .then(reply)
    .catch(error => exchange.endWith(asGatewayError(error)))
}

/** The same request with its own log, and a client that accepts everything. */
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
  isEnded = false
  private readonly overs: (() => void)[] = []

  constructor(
    { id, method, path, query, headers, params, log }: Exchange,
    private readonly snapshot: Snapshot,
    private readonly copies: Copies,
  ) {
    this.id = `${id}-mirror`
    this.method = method
    this.path = path
    this.query = query
    this.headers = headers
    this.params = params
    const { route, model, modelPattern, isKnownModel, bytesIn } = log
    // The operator sends it: it belongs to no key.
    this.log = {
      status: 0,
      bytesIn,
      bytesOut: 0,
      attempts: 0,
      isMirror: true,
      // The operator pays for it.
      times: 0,
      ...(route && { route }),
      ...(model !== undefined && { model }),
    }
    if (modelPattern !== undefined) this.log.modelPattern = modelPattern
    if (isKnownModel) this.log.isKnownModel = true
    copies.active++
    snapshot.entered()
  }

  /** The client's exchange counts the request. */
  hold(): void {}

  over(): void {
    if (this.isEnded) return
    this.isEnded = true
    this.copies.active--
    for (const run of this.overs) run()
    this.snapshot.onMirrored?.(this, now() - this.began)
    this.snapshot.left()
  }

  endWith(failure: GatewayError): void {
    this.log.error ??= failureOf(failure)
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
    if (this.isEnded) run()
    else this.overs.push(run)
  }

  /** There is no client that could go away. */
  onAbort(): void {}

  offAbort(): void {}

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

/** The logged status of a failure; no client received one. */
const FAILED = 502
