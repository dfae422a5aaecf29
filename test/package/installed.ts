// Sluice as users have it: packed, and installed in an empty folder, once for all test files.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../polling.js'
import { npm, startRegistry } from './registry.js'

const root = join(import.meta.dirname, '..', '..')

export interface Packed {
  filename: string
  /** Bytes. */
  unpackedSize: number
  files: { path: string; size: number }[]
}

export interface Installed {
  /** The folder with the `node_modules` that npm made. */
  folder: string
  /** The command, as npm links it. */
  bin: string
  packed: Packed
}

/** How long another process may take to install what this one waits for: milliseconds. */
const MOST_WAIT = 240_000

let installing: Promise<Installed> | undefined

export function installed(): Promise<Installed> {
  installing ??= install()
  return installing
}

async function install(): Promise<Installed> {
  const [list] = asList(await npm(['pack', '--dry-run', '--json', '--ignore-scripts'], root))
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  for (const { path } of list.files) hash.update(path).update(readFileSync(join(root, path)))
  const packages = join(root, '.sluice', 'packed')
  const folder = join(packages, hash.digest('hex').slice(0, 16))
  const bin = join(folder, 'node_modules', '.bin', 'sluice')
  mkdirSync(packages, { recursive: true })
  const lock = `${folder}.lock`
  for (const until = Date.now() + MOST_WAIT; !existsSync(folder); await sleep(50)) {
    if (!isMine(lock)) {
      if (Date.now() > until) throw new Error(`${lock} is held by a process that does not end`)
      continue
    }
    const work = `${folder}.${process.pid}`
    const registry = await startRegistry()
    try {
      mkdirSync(work)
      await npm(['pack', '--ignore-scripts', '--pack-destination', work], root)
      writeFileSync(join(work, 'package.json'), '{ "name": "empty", "private": true }\n')
      await npm(['install', `./${list.filename}`, `--registry=${registry.url}`, `--cache=${join(work, '.npm')}`], work)
      rmSync(join(work, '.npm'), { recursive: true, force: true })
      renameSync(work, folder)
    } finally {
      registry.close()
      rmSync(work, { recursive: true, force: true })
      rmSync(lock, { recursive: true, force: true })
    }
  }
  return { folder, bin, packed: list }
}

/** npm gives a list, and later ones an object by name. */
function asList(text: string): [Packed] {
  return Object.values(JSON.parse(text)) as [Packed]
}

/** Whether this process may install: one does, and a lock that is older than anybody's wait is of one that was killed. */
function isMine(lock: string): boolean {
  try {
    mkdirSync(lock)
    return true
  } catch {
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (age > MOST_WAIT) rmSync(lock, { recursive: true, force: true })
    return false
  }
}
