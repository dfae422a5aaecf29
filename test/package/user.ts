// A user of the installed package: commands, and a gateway as a separate process.

import { type ChildProcess, spawn } from 'node:child_process'
import { type Ended, run } from '../command.js'
import type { Installed } from './installed.js'

export function sluiceIn(
  user: Installed,
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input = '',
): Promise<Ended> {
  return run(user.bin, args, cwd, env, input)
}

export interface Started {
  url: string
  child: ChildProcess
  /** Ends it as an operator does; gives the exit code. */
  stop(): Promise<number | null>
}

/** `sluice start` in a folder; resolves when it listens. */
export function startSluice(
  user: Installed,
  cwd: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Started> {
  return new Promise((resolve, reject) => {
    const child = spawn(user.bin, ['start', '--config', 'gateway.yaml', ...args], { cwd, env: { ...process.env, ...env } })
    let out = ''
    let err = ''
    const over = new Promise<number | null>(done => child.on('exit', code => done(code)))
    child.stderr.on('data', part => {
      err += String(part)
    })
    child.stdout.on('data', part => {
      out += String(part)
      const url = /"msg":"listening".*"url":"([^"]+)"|"url":"([^"]+)".*"msg":"listening"/.exec(out)
      if (url === null) return
      resolve({
        url: (url[1] ?? url[2]) as string,
        child,
        stop() {
          child.kill('SIGTERM')
          return over
        },
      })
    })
    child.on('error', reject)
    void over.then(code => reject(new Error(`it ended with ${code} before it listened: ${err}${out}`)))
  })
}
