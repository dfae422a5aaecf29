/** Starts a measured process on its own core, and reads its resource usage from the operating system. Linux only. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { statOf } from '../tools/proc.mjs'

const children = new Set()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0

/** The cores of the measured process and of everything else; undefined if processes cannot be pinned. */
export const cores = canPin
  ? { measured: '0', load: availableParallelism() > 2 ? `1-${availableParallelism() - 1}` : '1', all: `0-${availableParallelism() - 1}` }
  : undefined

/** Moves this process, and so its children, off the measured core. */
export function pinSelf() {
  if (cores) pin(process.pid, cores.load)
}

/** Moves the threads of a process, but none of its children, to some cores. */
export function pin(pid, where) {
  spawnSync('taskset', ['-a', '-c', '-p', where, String(pid)])
}

/** @param {string[]} command @param {{ on?: string, env?: object, cwd?: string }} options `on`: cores, as taskset writes them */
export function start(command, { on, env, cwd } = {}) {
  const [program, ...args] = cores && on ? ['taskset', '-c', on, ...command] : command
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  const started = performance.now()
  let said = ''
  const listeners = new Set()
  const hear = bytes => {
    said = (said + bytes).slice(-20_000)
    for (const listener of listeners) listener()
  }
  child.stdout.setEncoding('utf8').on('data', hear)
  child.stderr.setEncoding('utf8').on('data', hear)
  child.on('error', error => hear(`\n${error.message}\n`))
  const exited = new Promise(resolve => child.on('close', () => (children.delete(child), resolve())))

  return {
    pid: child.pid,
    said: () => said,
    exited,
    /** Milliseconds from the start until `read(output)` returns a value, and that value. */
    async until(read, seconds = 20) {
      return new Promise((resolve, reject) => {
        const finish = (settle, value) => (clearTimeout(timer), listeners.delete(look), settle(value))
        const fail = why => finish(reject, new Error(`${command.join(' ')}: ${why}\n${said.slice(-2000)}`))
        const look = () => {
          const found = read(said)
          if (found !== undefined) finish(resolve, { found, ms: performance.now() - started })
        }
        const timer = setTimeout(fail, seconds * 1000, `not ready after ${seconds} s`)
        listeners.add(look)
        exited.then(() => fail('ended'))
        look()
      })
    },
    async stop(seconds = 5) {
      child.kill('SIGTERM')
      await Promise.race([exited, sleep(seconds * 1000, undefined, { ref: false })])
      if (children.has(child)) child.kill('SIGKILL')
      await exited
    },
  }
}

/** The url in the JSON line that our own servers print when they listen. */
export function listeningUrl(output) {
  for (const line of output.split('\n')) {
    if (!line.includes('"listening"')) continue
    try {
      const { msg, url } = JSON.parse(line)
      if (msg === 'listening' && url) return url
    } catch {
      // half a line: the rest follows
    }
  }
  return undefined
}

/** Milliseconds until something accepts connections on a loopback port. */
export async function accepts(port, child, seconds = 20) {
  const started = performance.now()
  let ended = false
  child.exited.then(() => (ended = true))
  while (performance.now() - started < seconds * 1000 && !ended) {
    const open = await new Promise(resolve => {
      const socket = connect(port, '127.0.0.1', () => (socket.destroy(), resolve(true))).on('error', () => resolve(false))
    })
    if (open) return performance.now() - started
    await sleep(5)
  }
  throw new Error(`nothing listens on port ${port}\n${child.said().slice(-2000)}`)
}

// ---- resource usage of a process and its children --------------------------------------------------------------------------

const TICKS = Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout) || 100

/** CPU microseconds (user + system) that these processes have used. */
export function cpu(pids) {
  let ticks = 0
  for (const pid of pids) {
    const fields = statOf(pid)
    if (fields) ticks += Number(fields[11]) + Number(fields[12])
  }
  return (ticks / TICKS) * 1e6
}

/** Resident bytes of these processes. */
export function rss(pids) {
  let bytes = 0
  for (const pid of pids) {
    try {
      bytes += Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
    } catch {
      // it has ended
    }
  }
  return bytes
}
