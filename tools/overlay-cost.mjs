// `npm run overlay:cost`: the cost of an overlay when a configuration is loaded, in CPU seconds of `sluice check` and the process
// that compiles for it, beyond those of the same configuration without an overlay. Exits with 1 if something costs more than
// it may.

import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MAIN } from './gateway.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = mkdtempSync(join(tmpdir(), 'sluice-cost-'))
const RUNS = 3

const PROVIDER = `title: Mine
source: https://docs.example.com/chat
base: https://api.example.com
credential: { header: authorization, prefix: 'Bearer ' }
secret_env: EXAMPLE_KEY
speaks: { chat: /v1/chat/completions }
`

function write(path, text) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** CPU seconds of one load, including the processes that it starts. */
function load(name) {
  const config = join(folder, name, 'gateway.yaml')
  const command = 'TIMEFORMAT="%U %S"; time "$@" >/dev/null'
  const { status, stderr } = spawnSync('bash', ['-c', command, 'bash', process.execPath, MAIN, 'check', '--config', config], {
    encoding: 'utf8',
    env: { ...process.env, XDG_CACHE_HOME: join(folder, 'cache') },
  })
  const lines = stderr.trimEnd().split('\n')
  if (status !== 0) throw new Error(lines.join('\n'))
  const [user, system] = lines.at(-1).split(/\s+/).map(Number)
  return user + system
}

const median = values => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]
const often = measure => median(Array.from({ length: RUNS }, measure))
/** The first load: with an empty cache. */
const first = name => {
  rmSync(join(folder, 'cache'), { recursive: true, force: true })
  return load(name)
}

try {
  for (const name of ['none', 'provider', 'dialect']) write(`${name}/gateway.yaml`, 'listen: 127.0.0.1:0\n')
  write('provider/providers/mine.yaml', PROVIDER)
  // A new dialect with the schemas of a whole API, and a mapping of several hundred lines from it.
  cpSync(join(root, 'schemas/messages'), join(folder, 'dialect/schemas/mine'), { recursive: true })
  const mapping = readFileSync(join(root, 'mappings/messages-to-chat/mapping.yaml'), 'utf8')
  write('dialect/mappings/mine-to-chat/mapping.yaml', mapping)
  write('dialect/providers/mine.yaml', PROVIDER)
  write('dialect/routes/mine.yaml', 'name: mine\nmethod: POST\npath: /mine\nauth: [bearer]\ndialect: mine\n')

  const none = often(() => load('none'))
  const rows = [
    ['a provider of six lines, first load', often(() => first('provider')), 1],
    ['the same again, unchanged', often(() => load('provider')), 0.3],
    ['a dialect with a mapping and a provider, first load', often(() => first('dialect')), 3],
    ['the same again, unchanged', often(() => load('dialect')), 0.3],
  ]
  // One more line: the units that do not depend on it are not compiled again.
  let count = 0
  rows.push([
    'the same after one line of the mapping has changed',
    often(() => {
      write('dialect/mappings/mine-to-chat/mapping.yaml', `${mapping}\n# ${count++}\n`)
      return load('dialect')
    }),
    3,
  ])
  rows.push([
    'the same after one line of the provider has changed',
    often(() => {
      write('dialect/providers/mine.yaml', `${PROVIDER}# ${count++}\n`)
      return load('dialect')
    }),
    3,
  ])
  console.log(`no overlay: ${none.toFixed(2)} s of CPU\n`)
  console.log('CPU over that    at most    what is loaded')
  for (const [what, cost, most] of rows) {
    const over = Math.max(0, cost - none)
    console.log(`${over.toFixed(2).padStart(8)} s ${`${most} s`.padStart(12)}    ${what}${over > most ? '  TOO MUCH' : ''}`)
    if (over > most) process.exitCode = 1
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
