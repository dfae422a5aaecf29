// The access log. It gathers its lines: writing them one by one would take a tenth of a small exchange's time. With what its
// destination adds, a line is written at most 200 ms late; a clean stop loses none, a crash those of the last 200 ms.

import pino, { type Logger } from 'pino'
import { maskIssued } from '../engine/control/key-form.js'
import { type Batch, hasWholeLine } from '../engine/control/records.js'
import type { Exchange } from '../engine/core/exchange.js'
import { accessLine, INFO, levelOf, lineFactsOf } from './access-line.js'
import { LogStream } from './log-stream.js'
import { linesOf } from './record-lines.js'

/** Milliseconds. */
const LATENESS = 100
/** The most buffered characters. */
const MOST = 64 * 1024

export interface AccessLog {
  /** Whether the control process may write the line: it has the same destination, and the record says all of the line. */
  mayLeave(exchange: Exchange): boolean
  add(exchange: Exchange, total: number): void
  /** Adds the lines that records ask for. */
  addBatch(batch: Batch): void
  /** Writes the buffered lines. */
  flush(): void
}

/** Writes to the destination of `log`, in its form; a line waits at most `lateness` milliseconds. */
export function createAccessLog(log: Logger, lateness = LATENESS): AccessLog {
  const stream = (log as unknown as Record<symbol, { write(text: string): unknown } | undefined>)[pino.symbols.streamSym]
  // A program that embeds the gateway has a log that the control process does not write to.
  const isStandardOutput = stream instanceof LogStream
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
  const gather = (lines: string): void => {
    if (lines === '') return
    gathered += lines
    if (gathered.length > MOST) flush()
    else timer ??= setTimeout(flush, lateness)
  }
  return {
    mayLeave: exchange => isStandardOutput && log.isLevelEnabled('info') && hasWholeLine(exchange),
    add(exchange, total) {
      const level = levelOf(exchange)
      if (level > INFO || log.isLevelEnabled('info')) gather(accessLine(lineFactsOf(exchange, total, level)))
    },
    addBatch: batch => gather(linesOf(batch)),
    flush,
  }
}
