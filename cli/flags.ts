// Node's own flags for a server, however it was started: V8 reads them once, before any of our code runs, and setting
// them later does nothing. So a process that was started without them becomes, or starts, one that has them.

import { spawn } from 'node:child_process'

/** A larger young generation halves what collecting it costs under load. Also in the first line of main.ts. */
const FLAG = '--max-semi-space-size=32'

/** True where another process serves in place of this one. */
export function handOver(): boolean {
  // Another size that somebody chose stays.
  if ([...process.execArgv, process.env.NODE_OPTIONS ?? ''].some(word => /--max[-_]semi[-_]space[-_]size/.test(word))) return false
  const args = [FLAG, ...process.execArgv, ...process.argv.slice(1)]
  const { execve } = process as { execve?: (file: string, args: string[], env: NodeJS.ProcessEnv) => never }
  // A channel to the parent would not outlive it.
  if (execve !== undefined && process.platform !== 'win32' && !process.connected)
    execve.call(process, process.execPath, [process.execPath, ...args], process.env)
  // Its channel tells it when this process is gone.
  const child = spawn(process.execPath, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal)
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, pass)
  process.on('disconnect', () => child.disconnect())
  child.on('message', message => process.send?.(message))
  child.on('error', error => {
    console.error(`Cannot start ${process.execPath}: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    for (const name of signals) process.off(name, pass)
    if (signal === null) process.exit(code ?? 1)
    process.kill(process.pid, signal)
  })
  return true
}
