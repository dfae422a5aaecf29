// Sluice as users have it: packed, and installed in an empty folder, once for all test files.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
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

/** The file with what npm packed, beside what it installed. */
const LIST = 'packed.json'

/** How long another process may take to install what this one waits for: milliseconds. */
const MOST_WAIT = 240_000

let installing: Promise<Installed> | undefined

export function installed(): Promise<Installed> {
  installing ??= install()
  return installing
}

async function install(): Promise<Installed> {
  const packages = join(root, '.sluice', 'packed')
  const folder = join(packages, hashOfPackable().slice(0, 16))
  const bin = join(folder, 'node_modules', '.bin', 'sluice')
  mkdirSync(packages, { recursive: true })
  const lock = `${folder}.lock`
  for (const until = Date.now() + MOST_WAIT; !existsSync(folder); await sleep(50)) {
    if (!isMine(lock)) {
      if (Date.now() > until) throw new Error(`${lock} is held by a process that does not end`)
      continue
    }
    // The one that had the lock before may have installed it since.
    if (existsSync(folder)) {
      rmSync(lock, { recursive: true, force: true })
      break
    }
    const work = `${folder}.${process.pid}`
    const registry = await startRegistry()
    try {
      mkdirSync(work)
      const [packed] = asList(await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', work], root))
      writeFileSync(join(work, LIST), JSON.stringify(packed))
      writeFileSync(join(work, 'package.json'), '{ "name": "empty", "private": true }\n')
      await npm(['install', `./${packed.filename}`, `--registry=${registry.url}`, `--cache=${join(work, '.npm')}`], work)
      rmSync(join(work, '.npm'), { recursive: true, force: true })
      renameSync(work, folder)
    } finally {
      registry.close()
      rmSync(work, { recursive: true, force: true })
      rmSync(lock, { recursive: true, force: true })
    }
  }
  return { folder, bin, packed: JSON.parse(readFileSync(join(folder, LIST), 'utf8')) as Packed }
}

/** A hash of everything that npm may pack: to ask npm which of it that is takes as long as to pack it. */
function hashOfPackable(): string {
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] }
  const named = files.filter(pattern => !pattern.startsWith('!')).map(pattern => (pattern.includes('*') ? dirname(pattern) : pattern))
  const hash = createHash('sha256')
  for (const path of ['package.json', 'package-lock.json', 'README.md', 'LICENSE', ...named].flatMap(filesIn))
    hash.update(path).update(readFileSync(join(root, path)))
  return hash.digest('hex')
}

/** A file itself, or every file in a folder; by their paths in the checkout. */
function filesIn(path: string): string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path]
  return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(root, join(entry.parentPath, entry.name)))
    .sort()
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
