// The folder of an instance, and what keeps a store from being made in it.

import { accessSync, chmodSync, closeSync, constants, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** The first bytes of an SQLite file. */
const HEADER = 'SQLite format 3\0'

/** Makes the folder, which only its owner can open. */
export function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
}

/**
 * Why the files of a store can never be made or opened here, in a sentence; undefined if nothing is known against it.
 * `file` is the SQLite file; undefined if the database is elsewhere, since a server that is away may come back.
 */
export function storeProblem(folder: string, file: string | undefined): string | undefined {
  try {
    makeFolder(folder)
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    return `the folder ${folder} cannot be made: ${codeOf(error)}`
  }
  if (file === undefined || !existsSync(file)) return undefined
  try {
    accessSync(file, constants.R_OK | constants.W_OK)
  } catch (error) {
    return `${file} cannot be written: ${codeOf(error)}`
  }
  return isDatabase(file) ? undefined : `${file} is not an SQLite database`
}

/** Why this user could neither make nor write a folder, in a sentence; undefined if nothing is known against it. Makes nothing. */
export function folderProblem(folder: string): string | undefined {
  let at = folder
  while (!existsSync(at)) at = dirname(at)
  if (!statSync(at).isDirectory()) return `the folder ${folder} cannot be made, since ${at} is a file`
  try {
    accessSync(at, constants.R_OK | constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    return `the folder ${folder} cannot be ${at === folder ? 'written' : 'made'} by this user: ${codeOf(error)}`
  }
}

/** The error for a file of the folder that cannot be used, as a sentence; `advice` says what to do. */
export function unusable(path: string, error: unknown, advice: string): Error {
  return new Error(`The file ${path} cannot be used (${error instanceof Error ? error.message : String(error)}): ${advice}.`)
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error)

/** An empty file becomes one. */
function isDatabase(path: string): boolean {
  const stat = statSync(path)
  if (!stat.isFile()) return false
  if (stat.size === 0) return true
  const bytes = Buffer.alloc(HEADER.length)
  const file = openSync(path, 'r')
  try {
    readSync(file, bytes, 0, bytes.length, 0)
  } finally {
    closeSync(file)
  }
  return bytes.toString('latin1') === HEADER
}
