// Sets Node's flags for a server, however it was started: V8 reads them once, before any of our code runs. So a process
// without them replaces itself by, or starts, one with them.

import { spawn } from 'node:child_process'

/**
 * A larger young generation halves its collection time under load. And V8 would set the first limit of the old one by what it
 * sees of the start: too low, so that the whole heap was collected again and again, and a stream took a third more. The first
 * line of main.ts and the script `start` of package.json have the flags, too.
 */
export const FLAGS = ['--max-semi-space-size=32', '--initial-old-space-size=128']

/** Returns true if another process serves in place of this one. */
export function restartWithFlags(): boolean {
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ').replaceAll('_', '-')
  // A size that the user chose stays.
  const missing = FLAGS.filter(flag => !given.includes(flag.slice(0, flag.indexOf('='))))
  if (missing.length === 0) return false
  const args = [...missing, ...process.execArgv, ...process.argv.slice(1)]
  const { execve } = process as { execve?: (file: string, args: string[], env: NodeJS.ProcessEnv) => never }
  // An IPC channel to the parent would not survive exec.
  if (execve !== undefined && process.platform !== 'win32' && !process.connected)
    execve.call(process, process.execPath, [process.execPath, ...args], process.env)
  // The IPC channel tells the child when this process has ended.
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
