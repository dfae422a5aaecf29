/** Prepares each language's program. Its dependencies are under node_modules/.cache, where a fresh install removes them. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const cache = resolve('node_modules/.cache/clients')

const run = (command, args, options = {}) => spawnSync(command, args, { encoding: 'utf8', ...options })
const has = (command, ...args) => run(command, args).status === 0

/** Runs a step; returns the reason if it fails. */
function step(say, command, args, options) {
  process.stderr.write(`${say}…\n`)
  const { status, stdout, stderr, error } = run(command, args, options)
  if (status === 0) return undefined
  return `${command} ${args.slice(0, 3).join(' ')} failed\n${error ?? `${stdout}${stderr}`.trim().split('\n').slice(-15).join('\n')}`
}

/** Recreates a folder if the file that lists its content has changed. */
function once(folder, wanted, make) {
  const stamp = join(folder, 'stamp')
  const hash = createHash('sha256').update(readFileSync(wanted)).digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return undefined
  rmSync(folder, { recursive: true, force: true })
  const missing = make()
  if (missing === undefined) writeFileSync(stamp, hash)
  return missing
}

function python() {
  const own = process.env.PYTHON ?? 'python3'
  if (!has(own, '-c', 'import sys; sys.exit(sys.version_info < (3, 10))')) return { missing: 'Python 3.10 or later is not installed' }
  if (!has(own, '-m', 'venv', '--help')) return { missing: 'Python lacks venv (Debian: python3-venv)' }
  const wanted = 'clients/python/requirements.txt'
  const folder = join(cache, 'python')
  const inside = join(folder, 'bin', 'python')
  const missing = once(
    folder,
    wanted,
    () =>
      step('python: venv', own, ['-m', 'venv', folder]) ?? step('python: pip', inside, ['-m', 'pip', 'install', '--quiet', '-r', wanted]),
  )
  if (missing !== undefined) return { missing }
  return { program: { command: inside, args: ['-B', 'clients/python/main.py'] } }
}

function go() {
  if (!has('go', 'version')) return { missing: 'Go is not installed' }
  mkdirSync(cache, { recursive: true })
  const program = join(cache, 'go')
  const missing = step('go: build', 'go', ['build', '-o', program, '.'], { cwd: 'clients/go' })
  return missing === undefined ? { program: { command: program, args: [] } } : { missing }
}

function java() {
  if (!has('javac', '-version')) return { missing: 'a JDK (17 or later) is not installed' }
  if (!has('mvn', '--version')) return { missing: 'Maven is not installed' }
  const folder = join(cache, 'java')
  const maven = goal => step('java: mvn', 'mvn', ['-q', '-B', goal, `-Dmade=${folder}`], { cwd: 'clients/java' })
  const missing = once(folder, 'clients/java/pom.xml', () => maven('generate-resources')) ?? maven('compiler:compile')
  if (missing !== undefined) return { missing }
  return { program: { command: 'java', args: ['-cp', `${join(folder, 'classes')}:${join(folder, 'lib')}/*`, 'clients.Main'] } }
}

export const LANGUAGES = { python: { prepare: python }, go: { prepare: go }, java: { prepare: java } }
