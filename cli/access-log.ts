// Buffers the lines of the access log: writing them one by one would take a tenth of a small exchange's time. With what its
// destination adds, a line is written at most 200 ms late; a clean stop loses none, a crash those of the last 200 ms.

import pino, { type Logger } from 'pino'
import { maskIssued } from '../engine/control/key-form.js'
import type { Exchange } from '../engine/core/exchange.js'
import { accessLine, isFailure } from './access-line.js'

/** Milliseconds. */
const LATENESS = 100
/** The most buffered characters. */
const MOST = 64 * 1024
const INFO = 30
const WARN = 40

export interface AccessLog {
  add(call: Exchange, total: number): void
  /** Writes the buffered lines. */
  flush(): void
}

/** Writes to the destination of `log`, in its form; a line waits at most `lateness` milliseconds. */
export function createAccessLog(log: Logger, lateness = LATENESS): AccessLog {
  const stream = (log as unknown as Record<symbol, { write(text: string): unknown } | undefined>)[pino.symbols.streamSym]
  let gathered = ''
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (gathered === '') return
    // Clients choose paths, names and ids: all lines are looked through at once.
    const text = maskIssued(gathered)
    gathered = ''
    stream?.write(text)
  }
  return {
    add(call, total) {
      const level = isFailure(call) ? WARN : INFO
      if (level === INFO && !log.isLevelEnabled('info')) return
      gathered += `{"level":${level},"time":${Date.now()},${accessLine(call, total)},"msg":"request"}\n`
      if (gathered.length > MOST) flush()
      else timer ??= setTimeout(flush, lateness)
    },
    flush,
  }
}
