// What the control process says: a line of JSON on standard output, as the gateway itself writes them.

import pino, { type Logger } from 'pino'

export function createLog(): Logger {
  return pino({ level: 'info', base: null, name: 'control' }, pino.destination({ dest: 1, sync: true }))
}
