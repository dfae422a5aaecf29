// Whether a folder holds data of its own, and the roots to read: the built-in data, and what is laid over it.

import { existsSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { HOME } from './home.js'
import { UsageError } from './told.js'

const FOLDERS = ['routes', 'schemas', 'mappings', 'providers', 'models']

export interface Roots {
  /** In the order in which they are read. */
  roots: string[]
  /** The operator's own; absent where it has none, or is ours. */
  own?: string
  /** Whether the folder is that of the built-in data. */
  isOurs: boolean
}

/** The roots of a folder. Throws a UsageError where there is no such folder. */
export function rootsOf(folder: string): Roots {
  if (!existsSync(folder)) throw new UsageError(`There is no folder ${folder}.`)
  const own = resolve(folder)
  const isOurs = realpathSync(own) === realpathSync(HOME)
  return isOurs || !FOLDERS.some(name => existsSync(join(own, name))) ? { roots: [HOME], isOurs } : { roots: [HOME, own], own, isOurs }
}
