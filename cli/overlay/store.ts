// Where compiled overlays are kept: a folder for each, named by the hash of its inputs, and the units that they are made of.
// What is here is code that will run, so that a folder which others may write to is not used.

import { randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import type { Unit, UnitCache } from '../../codegen/units.js'

/** So many are kept, those that were used last; and more only as long as they were used within the hour. */
const KEPT = { plans: 16, units: 512 } as const
/** So many are kept at most. */
const MOST = { plans: 128, units: 4096 } as const
/** Milliseconds. */
const IN_USE = 3_600_000

/** The folders that may hold compiled overlays, in the order in which they are tried; `wanted` alone where there is one. */
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

/** The plan of an overlay that was compiled before; nothing where there is none, or the folder cannot be trusted. */
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
 * Writes a compiled overlay; gives the path of its plan. Others see all of it or nothing, however many write the same at once.
 * Throws where the folder cannot be written to.
 */
export function writePlan(store: string, hash: string, files: ReadonlyMap<string, string>): string {
  const folder = join(store, 'plans', hash)
  const draft = join(store, 'plans', `.${hash}.${randomBytes(6).toString('hex')}`)
  prepare(store)
  try {
    for (const [path, text] of files) {
      mkdirSync(dirname(join(draft, path)), { recursive: true, mode: 0o700 })
      // On the disk before its name is: after a power failure it is whole, or not there.
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

/** The units that a folder keeps. What cannot be written is compiled again the next time. */
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

/** Says that what a process runs is in use, so that it is not taken away. `plan` is the path of its plan. */
export function touch(path: string): void {
  const now = new Date()
  try {
    utimesSync(path, now, now)
  } catch {
    // It is used all the same.
  }
}

/** Takes away what was not used for longest. */
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
        // A draft is older than others only where its process has ended.
        const isIdle = Date.now() - used > IN_USE
        if (isIdle ? index >= KEPT[kind] || name.startsWith('.') : index >= MOST[kind])
          rmSync(join(folder, name), { recursive: true, force: true })
      })
    } catch {
      // Another process may be at it.
    }
  }
}

function prepare(store: string): void {
  mkdirSync(join(store, 'plans'), { recursive: true, mode: 0o700 })
  mkdirSync(join(store, 'units'), { recursive: true, mode: 0o700 })
  const reason = distrust(store)
  if (reason !== undefined) throw new Error(reason)
}

/** Why code in a folder may be somebody else's; nothing where it is this user's alone. */
function distrust(store: string): string | undefined {
  const own = process.getuid?.()
  if (own === undefined) return undefined
  // In the folder for temporary files anybody could have made the outer one.
  for (const folder of store.startsWith(tmpdir()) ? [dirname(store), store] : [store]) {
    const stat = lstatSync(folder)
    if (!stat.isDirectory()) return `${folder} is not a folder`
    // What root owns, as in an image, is as trusted as Sluice itself.
    if (stat.uid !== own && stat.uid !== 0) return `${folder} belongs to another user`
    if ((stat.mode & 0o022) !== 0) return `${folder} can be written by others`
  }
  return undefined
}
