// Commands as processes of their own, and folders to run them in.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll } from 'vitest'

/** The built program. */
export const MAIN = join(import.meta.dirname, '..', 'dist', 'bundled', 'cli', 'main.js')

/** Node's flags of a gateway, as `npm start` gives them: one that is started without them starts another process. */
export const FLAGS = ['--max-semi-space-size=32', '--initial-old-space-size=128']

const HOST = join(import.meta.dirname, 'command-host.mjs')

export interface Ended {
  code: number | null
  out: string
  err: string
}

/** Runs a command to its end. */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
  input = '',
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env } })
    const ended: Ended = { code: null, out: '', err: '' }
    child.stdout.on('data', part => {
      ended.out += String(part)
    })
    child.stderr.on('data', part => {
      ended.err += String(part)
    })
    child.on('error', reject)
    child.on('close', code => resolve({ ...ended, code }))
    // Who does not read what is written to it has its reason.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}

/** `sluice` with these words. */
export const sluice = (args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}, input = ''): Promise<Ended> =>
  run(process.execPath, [MAIN, ...args], cwd, env, input)

export interface CommandHost {
  /** One command after the other, however many are asked for at once. */
  sluice: typeof sluice
  close(): void
}

/**
 * `sluice` in a process that stays for the next command: most of the time of a short command goes into loading its modules.
 * For commands that end by themselves.
 */
export function createCommandHost(): CommandHost {
  let host: { process: ChildProcess; gone: Promise<never> } | undefined
  let last: Promise<unknown> = Promise.resolve()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-command-'))
  const one = async (args: readonly string[], cwd: string, env: Readonly<Record<string, string>>, input: string): Promise<Ended> => {
    host ??= startHost()
    const file = join(folder, 'input')
    if (input !== '') writeFileSync(file, input)
    host.process.send({ args, cwd, env: { ...process.env, ...env }, input: input === '' ? undefined : file })
    const [ended] = await Promise.race([once(host.process, 'message'), host.gone])
    return ended as Ended
  }
  return {
    sluice(args, cwd, env = {}, input = '') {
      const next = last.then(() => one(args, cwd, env, input))
      // One after the other, also after one that failed.
      last = next.catch(() => undefined)
      return next
    },
    close() {
      host?.process.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** `sluice` in one process for the tests of the file that asks for this. */
export function sluiceInOneProcess(): typeof sluice {
  const host = createCommandHost()
  afterAll(() => host.close())
  return host.sluice
}

function startHost(): { process: ChildProcess; gone: Promise<never> } {
  const child = fork(HOST, [MAIN], { execArgv: [] })
  const gone = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`the process of the commands has ended with ${signal ?? code}`)
  })
  // It also ends when it is asked to.
  gone.catch(() => undefined)
  return { process: child, gone }
}

/** Makes folders of their own with files by their paths; they are removed after the tests of the file that asks for this. */
export function foldersOf(): (files?: Readonly<Record<string, string>>) => string {
  const folders: string[] = []
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })
  return (files = {}) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-command-'))
    folders.push(folder)
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    return folder
  }
}
