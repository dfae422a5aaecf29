// The log: JSON lines on standard output.

import pino, { type Logger } from 'pino'
import { LogStream } from './log-stream.js'

/** A log with a level, and the name of the process if that is not the gateway itself. */
export function createLog(level: string, name?: string): Logger {
  return pino({ level, base: null, ...(name !== undefined && { name }) }, new LogStream(1))
}

/** Waits until what was logged is written, but not for ever. */
export const flushed = (log: Logger): Promise<void> => new Promise(done => log.flush(() => done()))
