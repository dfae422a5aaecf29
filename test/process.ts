// A gateway as a separate process, started as users start it, so that its memory can be measured.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { FLAGS, MAIN } from './command.js'
import { KEY } from './harness.js'
import { sleep } from './polling.js'

/** How often its memory is looked at: milliseconds. */
const LOOK = 10

export interface Apart {
  url: string
  /** Waits until the process is at rest, and gives what it has then. */
  rest(): Promise<number>
  /** Looks at the memory from now on; what is given tells how many bytes more than those at rest there were at most. */
  watch(idle: number): () => number
  close(): Promise<void>
}

/** `file` is what gateway.yaml holds besides `listen` and a key named `test`. */
export async function startApart(file: Record<string, unknown>): Promise<Apart> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  const path = join(folder, 'gateway.yaml')
  writeFileSync(path, dump({ listen: '127.0.0.1:0', keys: [{ name: 'test', value: KEY }], ...file }))
  const child = spawn(process.execPath, [...FLAGS, MAIN, 'start', '--config', path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.on('data', part => {
      text += String(part)
      const found = /"url":"([^"]+)"/.exec(text)?.[1]
      if (found) resolve(found)
    })
    child.on('error', reject)
    child.on('exit', code => reject(new Error(`the gateway ended with ${code}`)))
  })
  let looking: NodeJS.Timeout | undefined
  /** By the system's own figures. */
  const resident = (): number => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024
  return {
    url,
    async rest() {
      let last = 0
      for (let still = 0; still < 3; ) {
        await sleep(100)
        const now = resident()
        still = now === last ? still + 1 : 0
        last = now
      }
      return last
    },
    watch(idle) {
      let most = resident()
      const look = (): void => {
        most = Math.max(most, resident())
      }
      // Also where the test before has failed and asked for nothing.
      clearInterval(looking)
      looking = setInterval(look, LOOK)
      return () => {
        clearInterval(looking)
        look()
        return most - idle
      }
    },
    async close() {
      // What looks at a process does not outlive it.
      clearInterval(looking)
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
