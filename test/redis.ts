// A real Redis or Valkey on a free port, if this machine has one: a test starts it, and ends or kills it.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../cli/ports.js'
import { sleep } from './polling.js'

/** The program's name; undefined if it is not installed. Debian's package is `redis-server`. */
export const REDIS = ['redis-server', 'valkey-server'].find(name => spawnSync(name, ['--version']).status === 0)

export interface TestRedis {
  url: string
  /** Ends it as a crash would; `start` begins it again, empty, on the same port. */
  kill(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export async function startRedis(): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-redis-'))
  const port = await freePort()
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    child = spawn(REDIS as string, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder], {
      stdio: 'ignore',
    })
    while (!(await isOpen(port))) await sleep(10)
  }
  const kill = async (): Promise<void> => {
    const dying = child
    if (dying === undefined || dying.exitCode !== null || dying.signalCode !== null) return
    const dead = new Promise(done => dying.once('exit', done))
    dying.kill('SIGKILL')
    await dead
  }
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    start,
    async close() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
