// A gateway as users run it, in a folder of its own, for measurements.

import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const main = new URL('../dist/cli/main.js', import.meta.url).pathname

/** Starts one with the configuration `file`, and resolves when its control process is ready. */
export async function startGateway(folder, file) {
  mkdirSync(folder, { recursive: true })
  const config = join(folder, 'gateway.yaml')
  writeFileSync(config, JSON.stringify({ listen: '127.0.0.1:0', grace: '1s', log: { access: false }, ...file }))
  const child = spawn(process.execPath, ['--max-semi-space-size=32', main, 'start', '--config', config])
  let text = ''
  child.stdout.on('data', part => {
    if (!text.includes('control process is there')) text += part
  })
  child.stderr.pipe(process.stderr)
  while (!text.includes('control process is there')) {
    if (child.exitCode !== null) throw new Error(`the gateway has ended: ${text}`)
    await sleep(20)
  }
  const { url } = JSON.parse(text.split('\n').find(line => line.includes('"listening"')))
  return {
    url,
    child,
    /** The admin API's answer for a path: JSON, or text if it is not JSON. */
    admin: path => ask(join(folder, 'data', 'admin.sock'), path),
    /** Its processes whose command contains a text. */
    pids: words => descendants(child.pid).filter(pid => commandOf(pid).includes(words)),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise(done => child.once('exit', done))
      child.kill('SIGTERM')
      await ended
    },
  }
}

function ask(socketPath, path) {
  return new Promise((done, fail) => {
    request({ socketPath, path: `/admin/v1${path}` }, response => {
      let said = ''
      response.on('data', part => (said += part))
      response.on('end', () => done(response.headers['content-type']?.startsWith('application/json') ? JSON.parse(said) : said))
    })
      .on('error', fail)
      .end()
  })
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

/** All descendants of a process, on systems with `/proc`. */
function descendants(parent) {
  const children = new Map()
  for (const name of readdirSync('/proc').filter(one => /^\d+$/.test(one))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const above = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      children.set(above, [...(children.get(above) ?? []), Number(name)])
    } catch {
      // It has ended meanwhile.
    }
  }
  const found = []
  for (const queue = [parent]; queue.length > 0; ) {
    const below = children.get(queue.shift()) ?? []
    found.push(...below)
    queue.push(...below)
  }
  return found
}
