// The cache of compiled overlays: a folder for each, named by the hash of its inputs, and the units that they consist of.
// Its content is executed, so a folder that other users can write to is not used.

import { randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import type { Unit, UnitCache } from '../../codegen/units.js'

/** The number of kept entries, most recently used first; more are kept only if they were used within the hour. */
const KEPT = { plans: 16, units: 512 } as const
/** The most kept entries. */
const MOST = { plans: 128, units: 4096 } as const
/** Milliseconds. */
const IN_USE = 3_600_000

/** The possible cache folders, in order; only `wanted` if it is given. */
export function storeFolders(wanted: string | undefined): string[] {
  if (wanted !== undefined) return [join(wanted, 'overlays')]
  const { XDG_CACHE_HOME: xdg } = process.env
  const home = homedir()
  return [
    ...(xdg !== undefined && isAbsolute(xdg) ? [join(xdg, 'sluice', 'overlays')] : []),
    ...(isAbsolute(home) && home !== '/' ? [join(home, '.cache', 'sluice', 'overlays')] : []),
    join(tmpdir(), `sluice-${process.getuid?.() ?? 'user'}`, 'overlays'),
  ]
}

/** The plan of an overlay that was compiled before; undefined if there is none, or if the folder is not safe. */
export function findPlan(store: string, hash: string): string | undefined {
  const folder = join(store, 'plans', hash)
  try {
    if (distrust(store) !== undefined || !statSync(join(folder, 'plan.js')).isFile()) return undefined
  } catch {
    return undefined
  }
  touch(folder)
  return join(folder, 'plan.js')
}

/**
 * Writes a compiled overlay; returns the path of its plan. Other processes see all of it or nothing, also when several
 * write the same. Throws if the folder cannot be written to.
 */
export function writePlan(store: string, hash: string, files: ReadonlyMap<string, string>): string {
  const folder = join(store, 'plans', hash)
  const draft = join(store, 'plans', `.${hash}.${randomBytes(6).toString('hex')}`)
  prepare(store)
  try {
    for (const [path, text] of files) {
      mkdirSync(dirname(join(draft, path)), { recursive: true, mode: 0o700 })
      // Flushed before the rename: after a power failure the folder is complete, or absent.
      writeFileSync(join(draft, path), text, { mode: 0o600, flush: true })
    }
    renameSync(draft, folder)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    const { code } = error as NodeJS.ErrnoException
    // Another process was first.
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'EPERM') throw error
    if (!statSync(join(folder, 'plan.js'), { throwIfNoEntry: false })?.isFile()) throw error
  }
  return join(folder, 'plan.js')
}

/** The cached units of a folder. A unit that cannot be written is compiled again next time. */
export function unitsIn(store: string): UnitCache {
  const path = (key: string): string => join(store, 'units', `${key}.json`)
  return {
    get(key) {
      try {
        if (distrust(store) !== undefined) return undefined
        const unit = JSON.parse(readFileSync(path(key), 'utf8')) as Unit
        touch(path(key))
        return unit
      } catch {
        return undefined
      }
    },
    set(key, unit) {
      const draft = join(store, 'units', `.${key}.${randomBytes(6).toString('hex')}`)
      try {
        prepare(store)
        writeFileSync(draft, JSON.stringify(unit), { mode: 0o600 })
        renameSync(draft, path(key))
      } catch {
        rmSync(draft, { force: true })
      }
    },
  }
}

/** Marks what a process uses, so that it is not removed. `plan` is the path of its plan. */
export function touch(path: string): void {
  const now = new Date()
  try {
    utimesSync(path, now, now)
  } catch {
    // The mark is optional.
  }
}

/** Removes the least recently used entries. */
export function prune(store: string): void {
  for (const kind of ['plans', 'units'] as const) {
    try {
      const folder = join(store, kind)
      const all = readdirSync(folder).flatMap(name => {
        const used = statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs
        return used === undefined ? [] : [{ name, used }]
      })
      all.sort((one, other) => other.used - one.used)
      all.forEach(({ name, used }, index) => {
        // A draft this old belongs to a process that has ended.
        const isIdle = Date.now() - used > IN_USE
        if (isIdle ? index >= KEPT[kind] || name.startsWith('.') : index >= MOST[kind])
          rmSync(join(folder, name), { recursive: true, force: true })
      })
    } catch {
      // Another process may be removing it.
    }
  }
}

function prepare(store: string): void {
  mkdirSync(join(store, 'plans'), { recursive: true, mode: 0o700 })
  mkdirSync(join(store, 'units'), { recursive: true, mode: 0o700 })
  const reason = distrust(store)
  if (reason !== undefined) throw new Error(reason)
}

/** Why code in a folder may be another user's; undefined if only this user can write there. */
function distrust(store: string): string | undefined {
  const own = process.getuid?.()
  if (own === undefined) return undefined
  // In the folder for temporary files anybody could have created the outer folder.
  for (const folder of store.startsWith(tmpdir()) ? [dirname(store), store] : [store]) {
    const stat = lstatSync(folder)
    if (!stat.isDirectory()) return `${folder} is not a folder`
    // Files of root, as in an image, are as trusted as Sluice itself.
    if (stat.uid !== own && stat.uid !== 0) return `${folder} belongs to another user`
    if ((stat.mode & 0o022) !== 0) return `${folder} can be written by others`
  }
  return undefined
}
