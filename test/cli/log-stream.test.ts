// The log of a gateway whose reader is slow, stands still or goes away, or whose disk is full: it never holds up an exchange,
// the memory for it is bounded, and what is lost is told.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { dump } from 'js-yaml'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../cli/ports.js'
import { FLAGS, foldersOf, MAIN } from '../command.js'
import { startSimulator } from '../harness.js'
import { sleep, until } from '../polling.js'

let simulator: Awaited<ReturnType<typeof startSimulator>>
beforeAll(async () => {
  simulator = await startSimulator({})
})
afterAll(() => simulator?.close())

const folder = foldersOf()
const running = new Set<ChildProcess>()
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
})

interface Gateway {
  child: ChildProcess
  out: Readable
  url: string
  err(): string
  /** Ends it, and gives the exit code and the milliseconds that it took. */
  stop(): Promise<[code: number | null, time: number]>
}

/** A pipe of the system, as a shell and a container have it. Node's own pipes to a child are sockets. */
function pipe(): { reader: Readable; writer: number } {
  const path = join(folder({}), 'pipe')
  execFileSync('mkfifo', [path])
  // Otherwise each end waits to be opened until the other one is.
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return { reader: new Socket({ fd: reader, writable: false }), writer: openSync(path, 'w') }
}

/** Starts one whose log goes to `out`: a descriptor, or a socket or pipe that nobody reads until somebody does. */
async function start(more: Record<string, unknown>, out: number | 'socket' | 'pipe' = 'socket'): Promise<Gateway> {
  const ends = out === 'pipe' ? pipe() : undefined
  const port = await freePort()
  const file = {
    listen: `127.0.0.1:${port}`,
    keys: [{ name: 'me', value: 'my-key' }],
    upstreams: { up: { provider: 'openai', base: simulator.url, secret: 'none' } },
    models: { sim: { targets: [{ upstream: 'up' }] } },
    grace: '1s',
    ...more,
  }
  const cwd = folder({ 'gateway.yaml': dump(file) })
  const child = spawn(process.execPath, [...FLAGS, MAIN, 'start', '--config', join(cwd, 'gateway.yaml')], {
    cwd,
    stdio: ['ignore', ends?.writer ?? (out === 'socket' ? 'pipe' : out), 'pipe'],
  })
  running.add(child)
  if (ends) closeSync(ends.writer)
  let err = ''
  child.stderr?.on('data', part => (err += String(part)))
  const url = `http://127.0.0.1:${port}`
  const ended = new Promise<number | null>(done => child.once('exit', done))
  let isThere = false
  const look = async (): Promise<void> => {
    isThere ||= await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  await until(() => {
    void look()
    return isThere || child.exitCode !== null
  })
  return {
    child,
    out: ends?.reader ?? (child.stdout as Readable),
    url,
    err: () => err,
    async stop() {
      const began = performance.now()
      child.kill('SIGTERM')
      return [await ended, performance.now() - began]
    },
  }
}

/** A long path is repeated in each line of the log. */
const ask = (url: string, id = 0): Promise<number> =>
  fetch(`${url}/v1/models/${'x'.repeat(1_500)}${id}`, { headers: { authorization: 'Bearer my-key' } }).then(async response => {
    await response.text()
    return response.status
  })

async function askOften(url: string, count: number): Promise<void> {
  let next = 0
  const one = async (): Promise<void> => {
    while (next < count) expect(await ask(url, next++)).toBe(404)
  }
  await Promise.all(Array.from({ length: 16 }, one))
}

const linesOf = (text: string): { msg: string; lost?: number; status?: number }[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as { msg: string; lost?: number; status?: number })

describe.each<[string, Record<string, unknown>, 'socket' | 'pipe']>([
  ['with one process and a socket', {}, 'socket'],
  ['with two processes and a pipe', { workers: 2 }, 'pipe'],
  ['with a store and a pipe', { store: 'sqlite' }, 'pipe'],
])('a gateway %s', (_name, more, out) => {
  test('serves while its log cannot be written, says so once, and ends', async () => {
    const full = openSync('/dev/full', 'w')
    const gateway = await start(more, full)
    closeSync(full)
    await askOften(gateway.url, 100)
    await until(() => gateway.err().includes('The log cannot be written: ENOSPC'))
    expect((await gateway.stop())[0]).toBe(0)
    // Each process says it.
    for (const line of gateway.err().split('\n').filter(Boolean)) expect(line).toMatch(/^The log cannot be written: ENOSPC/)
    expect(gateway.err().split('\n').length).toBeLessThan(6)
  })

  test('serves when the reader of its log goes away, and ends', async () => {
    const gateway = await start(more, out)
    gateway.out.destroy()
    await askOften(gateway.url, 100)
    expect((await gateway.stop())[0]).toBe(0)
  })

  test('serves while nobody reads its log, and ends all the same', async () => {
    const gateway = await start(more, out)
    // More than a pipe holds.
    await askOften(gateway.url, 200)
    const [code, time] = await gateway.stop()
    // A write that never returns ends only with its process.
    expect([0, null, 137]).toContain(code)
    expect(time).toBeLessThan(30_000)
  })

  test('ends while the reader of its log takes a little and then nothing', async () => {
    const gateway = await start(more, out)
    await askOften(gateway.url, 200)
    const stopping = gateway.stop()
    // The last piece is taken shortly before the gateway has waited long enough.
    for (let count = 0; count < 19; count++) {
      await sleep(100)
      gateway.out.read(16_384)
    }
    const [code, time] = await stopping
    expect([0, null, 137]).toContain(code)
    expect(time).toBeLessThan(30_000)
  })

  test('writes whole lines, whoever else writes to the pipe', async () => {
    const gateway = await start(more, out)
    let text = ''
    // Read a little at a time: the pipe is full, and everybody waits for room.
    gateway.out.on('readable', () => {})
    const reading = (async () => {
      for (;;) {
        const part = gateway.out.read(3_000) ?? gateway.out.read()
        if (part !== null) text += String(part)
        if (gateway.out.readableEnded) return
        await sleep(1)
      }
    })()
    // Less than one process keeps, also if it serves all of them.
    await askOften(gateway.url, 1_000)
    // A gateway that ends waits only a while for a reader that is behind.
    await until(() => text.split('"status":404,').length > 1_000)
    await gateway.stop()
    await reading
    expect(linesOf(text).filter(({ status }) => status === 404)).toHaveLength(1_000)
  })
})

test.each(['socket', 'pipe'] as const)(
  'lines beyond a bound are dropped while nobody reads a %s, and counted when somebody does',
  async out => {
    const gateway = await start({}, out)
    const count = 6_000
    await askOften(gateway.url, count)
    let text = ''
    gateway.out.on('data', part => (text += String(part)))
    const lost = await until(() => linesOf(text.slice(0, text.lastIndexOf('\n') + 1)).find(line => line.lost !== undefined)?.lost)
    expect(lost).toBeGreaterThan(0)
    expect(await ask(gateway.url)).toBe(404)
    await gateway.stop()
    expect(linesOf(text).filter(({ status }) => status === 404).length + lost).toBe(count + 1)
  },
)
