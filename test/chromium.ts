// A real browser: the system's, or Debian's, which is installed if there is none, unless that is refused.

import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { WebSocket } from 'ws'

const run = promisify(execFile)
const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
/** The variable of the environment that says that nothing is to be installed. */
const REFUSAL = 'SLUICE_NO_INSTALL'
/** Past what gathers the lines of a test until it is over. */
const sayAtOnce = (text: string): void => void writeSync(2, `${text}\n`)
/** How long an installation may take: milliseconds. */
export const INSTALLATION = 300_000

async function installed(): Promise<string | undefined> {
  for (const name of NAMES) {
    const isThere = await run(name, ['--version']).then(
      () => true,
      () => false,
    )
    if (isThere) return name
  }
  return undefined
}

/** The command of a browser; or the reason why there is none and none can be installed. */
export async function findChromium(say = sayAtOnce): Promise<{ command: string } | { reason: string }> {
  const there = await installed()
  if (there !== undefined) return { command: there }
  if (process.env[REFUSAL]) return { reason: `There is no Chromium, and ${REFUSAL} is set.` }
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  const apt = async (...words: string[]): Promise<void> => {
    const [command = '', ...rest] = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq', ...PATIENCE, ...words]
    await run(command, rest, { timeout: INSTALLATION / 2, maxBuffer: 64 * 1024 * 1024 })
  }
  try {
    say(`There is no Chromium: installing Debian's package "chromium" into this system with apt-get. ${REFUSAL}=1 refuses.`)
    await apt('update')
    await apt('install', '-y', '--no-install-recommends', 'chromium')
  } catch (error) {
    return {
      reason: `Chromium cannot be installed: ${String((error as Error).message)
        .trim()
        .split('\n')
        .at(-1)}`,
    }
  }
  const now = await installed()
  return now === undefined ? { reason: 'Chromium was installed and cannot be run.' } : { command: now }
}

/** Another installation is waited for, a network that is not there is not. */
const PATIENCE = ['-o', 'DPkg::Lock::Timeout=60', '-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=20']

/** Opens a page in a browser of its own; what is given closes it. */
export function openPage(command: string, url: string): () => void {
  const profile = mkdtempSync(join(tmpdir(), 'sluice-'))
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run']
  // A group of its own, since it starts other processes.
  const child = spawn(command, [...flags, `--user-data-dir=${profile}`, url], { detached: true, stdio: 'ignore' })
  child.on('error', () => undefined)
  return () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** A page of a browser that is driven: a command of the DevTools protocol, and what it gives. */
export interface Page {
  send<Answer = Record<string, unknown>>(method: string, params?: Record<string, unknown>): Promise<Answer>
  /** Resolves when an event comes. */
  once(event: string): Promise<unknown>
  close(): void
}

/** Starts a browser of its own, and drives one page of it. */
export async function drivePage(command: string): Promise<Page> {
  const profile = mkdtempSync(join(tmpdir(), 'sluice-'))
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--remote-debugging-port=0',
  ]
  const child = spawn(command, [...flags, `--user-data-dir=${profile}`, 'about:blank'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const end = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 })
  }
  const address = await new Promise<string>((resolve, reject) => {
    let said = ''
    child.on('error', reject)
    child.on('exit', () => reject(new Error(`The browser ended: ${said}`)))
    child.stderr.on('data', part => {
      said += String(part)
      const found = /ws:\/\/\S+/.exec(said)
      if (found) resolve(found[0])
    })
  })
  const socket = new WebSocket(address)
  await new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  const waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>()
  const events = new Map<string, ((params: unknown) => void)[]>()
  socket.on('message', data => {
    const { id, result, error, method, params } = JSON.parse(String(data))
    if (id === undefined) for (const run of events.get(method)?.splice(0) ?? []) run(params)
    else if (error) waiting.get(id)?.reject(new Error(error.message))
    else waiting.get(id)?.resolve(result as never)
    waiting.delete(id)
  })
  let last = 0
  const ask = <Answer>(method: string, params: object, sessionId?: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      last++
      waiting.set(last, { resolve, reject })
      socket.send(JSON.stringify({ id: last, method, params, ...(sessionId !== undefined && { sessionId }) }))
    })
  const { targetId } = await ask<{ targetId: string }>('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await ask<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true })
  return {
    send: (method, params = {}) => ask(method, params, sessionId),
    once: event => new Promise(resolve => events.set(event, [...(events.get(event) ?? []), resolve])),
    close() {
      socket.terminate()
      end()
    },
  }
}
