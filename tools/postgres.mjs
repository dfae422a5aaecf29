// A separate Postgres for a test file or a measurement, if its binaries are found (Debian: `apt-get install postgresql`).

import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

function folderOfBinaries() {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((left, right) => Number(right) - Number(left)) : []
  return versions.map(version => join(root, version, 'bin')).find(folder => existsSync(join(folder, 'initdb')))
}

const binaries = folderOfBinaries()
/** Whether Postgres is installed. */
export const hasPostgres = binaries !== undefined

/** A server must not run as root: it runs as the user that Debian's package creates. */
function user() {
  if (process.getuid?.() !== 0) return undefined
  const idOf = flag => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/** Starts a server that listens on a socket in its own folder. */
export async function startPostgres() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pg-'))
  const as = user()
  chmodSync(folder, 0o700)
  if (as) chownSync(folder, as.uid, as.gid)
  const data = join(folder, 'data')
  execFileSync(join(binaries, 'initdb'), ['-D', data, '-U', 'sluice', '-A', 'trust', '-N', '-E', 'UTF8'], {
    ...as,
    stdio: 'ignore',
    cwd: folder,
  })
  const urlOf = name => `postgres://sluice@localhost/${name}?host=${encodeURIComponent(folder)}`
  let server
  const start = async () => {
    server = spawn(
      join(binaries, 'postgres'),
      ['-D', data, '-k', folder, '-c', 'listen_addresses=', '-c', 'max_connections=60', '-c', 'shared_buffers=64MB'],
      { ...as, stdio: 'ignore', cwd: folder },
    )
    for (let tries = 0; ; tries++) {
      const client = new pg.Client({ connectionString: urlOf('postgres') })
      try {
        await client.connect()
        await client.end()
        return
      } catch (error) {
        if (tries > 1000) throw error
        await sleep(20)
      }
    }
  }
  const stop = async () => {
    const ended = new Promise(done => server?.once('exit', done))
    // Immediately: committed data is in its files.
    server?.kill('SIGQUIT')
    await ended
  }
  await start()
  let count = 0
  return {
    start,
    stop,
    async database() {
      const name = `test_${count++}`
      const client = new pg.Client({ connectionString: urlOf('postgres') })
      await client.connect()
      await client.query(`create database ${name}`)
      await client.end()
      return urlOf(name)
    },
    async close() {
      if (server?.exitCode === null) await stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
