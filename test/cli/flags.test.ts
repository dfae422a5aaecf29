// Every way to start the command sets the flags for memory, which the processes themselves report.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { FLAGS, MAIN } from '../command.js'

const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
const config = join(folder, 'gateway.yaml')
writeFileSync(config, 'listen: 127.0.0.1:0\n')
// What npm makes of `bin` where the package is installed.
mkdirSync(join(folder, 'node_modules', '.bin'), { recursive: true })
symlinkSync(MAIN, join(folder, 'node_modules', '.bin', 'sluice'))

/** In every process that has loaded the server: makes the young generation as large as it gets, and writes that and its flags down. */
const probe = join(folder, 'probe.cjs')
writeFileSync(
  probe,
  `const look = setInterval(() => {
    if (!Object.keys(require.cache).some(name => name.includes('uWebSockets'))) return
    clearInterval(look)
    let kept = []
    let most = 0
    for (let made = 0; made < 3e6; made++) {
      kept.push({ made })
      if (kept.length > 3e5) kept = []
      if (made % 1e4 === 0) most = Math.max(most, require('node:v8').getHeapSpaceStatistics().find(space => space.space_name === 'new_space').space_size)
    }
    require('node:fs').appendFileSync(process.env.PROBED, [most / 2 ** 20, process.pid, ...process.execArgv].join(' ') + '\\n')
  }, 20)
  look.unref()`,
)

type Sizes = () => [size: number, pid: number, ...flags: string[]][]
const started: { child: ChildProcess; sizes: Sizes }[] = []
afterEach(() => {
  // A process in between may not pass signals on.
  for (const { child, sizes } of started.splice(0))
    for (const pid of [child.pid as number, ...sizes().map(([, pid]) => pid)]) signal(pid, 'SIGKILL')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0
/** Starts a command; gives it and the megabytes of each of its processes. */
function start(command: string, ...args: string[]): { child: ChildProcess; sizes: Sizes } {
  const file = join(folder, `${count++}.txt`)
  const env = { ...process.env, NODE_OPTIONS: `--require ${probe}`, PROBED: file }
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const sizes: Sizes = () =>
    (existsSync(file) ? readFileSync(file, 'utf8') : '')
      .split('\n')
      .slice(0, -1)
      .map(line => line.split(' '))
      .map(([size, pid, ...flags]) => [Number(size), Number(pid), ...flags])
  started.push({ child, sizes })
  return { child, sizes }
}

/** Whether there was such a process. */
function signal(pid: number, what: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, what)
  } catch {
    return false
  }
}

const ROOM = 64

test.each<[string, string[], number]>([
  ['node', [MAIN, 'start', '--config', config], 1],
  [MAIN, ['start', '--config', config], 1],
  ['npx', ['--no-install', 'sluice', 'start', '--config', config], 1],
  ['node', [MAIN, 'start', '--config', config, '--workers', '2'], 3],
])('%s %s starts every process with the flags for its memory', async (command, args, processes) => {
  const { sizes } = start(command, ...args)
  await expect.poll(() => sizes().length).toBe(processes)
  for (const [size, , ...flags] of sizes()) {
    expect(size).toBeGreaterThanOrEqual(ROOM)
    expect(flags).toEqual(expect.arrayContaining(FLAGS))
  }
})

test('`npm start` has the flags, so that it needs no second process', () => {
  const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8'))
  expect(scripts.start.split(' ')).toEqual(expect.arrayContaining(FLAGS))
})

test('a size that the operator chose is kept', async () => {
  const { sizes } = start('node', '--max-semi-space-size=8', MAIN, 'start', '--config', config)
  await expect.poll(() => sizes().length).toBe(1)
  expect(sizes()[0]?.[0]).toBe(16)
})

test.each(['SIGTERM', 'SIGKILL'] as const)('%s ends all processes that were started', async name => {
  const { child, sizes } = start('node', MAIN, 'start', '--config', config, '--workers', '2')
  await expect.poll(() => sizes().length).toBe(3)
  const ended = new Promise(resolve => child.on('exit', (code, by) => resolve(code ?? by)))
  child.kill(name)
  expect(await ended).toBe(name === 'SIGTERM' ? 0 : name)
  await expect.poll(() => sizes().filter(([, pid]) => signal(pid, 0))).toEqual([])
})
