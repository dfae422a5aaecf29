// Runs commands one after the other in one process: its modules are loaded once. Each command is evaluated as `sluice` is,
// with its own arguments, folder, environment and standard input, and what it writes is handed back with its exit code.

import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

const [, , MAIN] = process.argv
let count = 0

/** What a command throws that ends its process. */
class Ended extends Error {}

process.exit = code => {
  process.exitCode = code ?? process.exitCode
  throw new Ended()
}

process.on('message', async ({ args, cwd, env, input }) => {
  const ended = { out: '', err: '' }
  const streams = [
    [process.stdout, 'out'],
    [process.stderr, 'err'],
  ]
  for (const [stream, name] of streams)
    stream.write = (part, ...more) => {
      ended[name] += String(part)
      for (const done of more) if (typeof done === 'function') done()
      return true
    }
  process.argv = [process.execPath, MAIN, ...args]
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  process.exitCode = undefined
  process.chdir(cwd)
  // What is opened next gets the lowest free number, which is that of the standard input.
  closeSync(0)
  openSync(input ?? devNull)
  try {
    await import(`${MAIN}?${count++}`)
  } catch (error) {
    if (!(error instanceof Ended)) {
      process.exitCode = 1
      ended.err += error.stack
    }
  }
  process.stdout.removeAllListeners('error')
  process.send({ code: process.exitCode ?? 0, ...ended })
  process.exitCode = undefined
})
