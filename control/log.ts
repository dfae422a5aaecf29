// The log: JSON lines on standard output.

import pino, { type Logger } from 'pino'
import { LogStream } from './log-stream.js'

/** A log with a level, and the name of the process if that is not the gateway itself. */
export function createLog(level: string, name?: string): Logger {
  return pino({ level, base: null, ...(name !== undefined && { name }) }, new LogStream(1))
}

/** Milliseconds between two lines about what lasts. */
const HOUR = 3_600_000

/** Logs a warning at most once an hour. */
export function hourly(log: Logger): (message: string, more?: object) => void {
  let toldAt = Number.NEGATIVE_INFINITY
  return (message, more = {}) => {
    if (performance.now() < toldAt + HOUR) return
    toldAt = performance.now()
    log.warn(more, message)
  }
}

/** Waits until what was logged is written, but not for ever. */
export const flushed = (log: Logger): Promise<void> => new Promise(done => log.flush(() => done()))
