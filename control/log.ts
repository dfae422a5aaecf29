// The log of the control process: JSON lines on standard output, in the gateway's form.

import pino, { type Logger } from 'pino'

export function createLog(): Logger {
  return pino({ level: 'info', base: null, name: 'control' }, pino.destination({ dest: 1, sync: true }))
}
