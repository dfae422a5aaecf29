// Whether a folder has data of its own, and the roots to read: the built-in data, and the overlay.

import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { HOME } from '../codegen/home.js'
import { isFolder } from '../codegen/read/status.js'
import { UsageError } from './output.js'

const FOLDERS = ['routes', 'schemas', 'mappings', 'providers', 'models']

export interface Roots {
  /** In reading order. */
  roots: string[]
  /** The operator's own; undefined if the folder has none, or is the built-in one. */
  own?: string
  /** Whether the folder is that of the built-in data. */
  isOurs: boolean
}

/** The folder of a configuration, which may be named by its gateway.yaml. */
export function folderOf(path: string): string {
  return existsSync(path) && !isFolder(path) ? dirname(path) : path
}

/** The roots of a folder. Throws a UsageError if the folder does not exist. */
export function rootsOf(folder: string): Roots {
  if (!existsSync(folder)) throw new UsageError(`There is no folder ${folder}.`)
  const own = resolve(folder)
  const isOurs = realpathSync(own) === realpathSync(HOME)
  return isOurs || !FOLDERS.some(name => existsSync(join(own, name))) ? { roots: [HOME], isOurs } : { roots: [HOME, own], own, isOurs }
}
