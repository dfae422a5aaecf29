// A gateway as users run it, in a folder of its own, for measurements.

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FLAGS } from '../dist/cli/flags.js'
import { below } from './proc.mjs'

/** The program in a built checkout; an earlier one has no bundles. */
export function programIn(folder) {
  const bundled = join(folder, 'dist/bundled/cli/main.js')
  return existsSync(bundled) ? bundled : join(folder, 'dist/cli/main.js')
}

export const MAIN = programIn(new URL('..', import.meta.url).pathname)

/**
 * Starts one with the configuration `file`, and resolves when it listens, and its control process is ready if it has a store.
 * @param program another checkout's
 */
export async function startGateway(folder, file, program = MAIN) {
  mkdirSync(folder, { recursive: true })
  const config = join(folder, 'gateway.yaml')
  writeFileSync(config, JSON.stringify({ listen: '127.0.0.1:0', grace: '1s', log: { access: false }, ...file }))
  const child = spawn(process.execPath, [...FLAGS, program, 'start', '--config', config])
  const ready = file.store === undefined ? /"listening".*\n/ : /control process is ready/
  let text = ''
  // What follows the start may be lines of the access log: they are read, and let go.
  child.stdout.on('data', part => {
    if (!ready.test(text)) text += part
  })
  child.stderr.pipe(process.stderr)
  while (!ready.test(text)) {
    if (child.exitCode !== null) throw new Error(`the gateway has ended: ${text}`)
    await sleep(20)
  }
  const { url } = JSON.parse(text.split('\n').find(line => line.includes('"listening"')))
  return {
    url,
    child,
    /** The admin API's answer for a path, or for a posted body: JSON, or text if it is not JSON. */
    admin: (path, posted) => ask(join(folder, 'data', 'admin.sock'), path, posted),
    /** Its processes whose command contains a text. */
    pids: words => below(child.pid, words),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise(done => child.once('exit', done))
      child.kill('SIGTERM')
      await ended
    },
  }
}

function ask(socketPath, path, posted) {
  const more = posted === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' } }
  return new Promise((done, fail) => {
    request({ socketPath, path: `/admin/v1${path}`, ...more }, response => {
      let said = ''
      response.on('data', part => (said += part))
      response.on('end', () => done(response.headers['content-type']?.startsWith('application/json') ? JSON.parse(said) : said))
    })
      .on('error', fail)
      .end(posted === undefined ? undefined : JSON.stringify(posted))
  })
}
