// The files of an operator's overlay, in the folders beside gateway.yaml, and their hash.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { HOME } from '../../codegen/home.js'
import { display } from '../../codegen/read/display.js'
import { DataError, type Finding } from '../../codegen/read/findings.js'
import { statusOf } from '../../codegen/read/status.js'
import { readVersion } from '../../codegen/version.js'

/** The folders that an overlay may have. */
export const FOLDERS = ['routes', 'schemas', 'mappings', 'providers', 'models'] as const

/** The folder of the compiled built-in data. */
export const GENERATED = join(HOME, 'generated')

/** The folder of the overlay beside a configuration; undefined if it has none of the folders. */
export function overlayOf(config: string | undefined): string | undefined {
  const own = config === undefined ? undefined : dirname(resolve(config))
  return own !== undefined && own !== HOME && FOLDERS.some(folder => existsSync(join(own, folder))) ? own : undefined
}

/**
 * The hash of all inputs of an overlay's output: its files, their names in findings, Sluice's own data and code, and their
 * locations. Throws a DataError for files that cannot be read.
 */
export function hashOverlay(overlay: string): string {
  const hash = createHash('sha256')
  const findings: Finding[] = []
  hash.update(JSON.stringify([readVersion(GENERATED), HOME, display(overlay)]))
  for (const path of filesOf(overlay, findings)) {
    try {
      const text = readFileSync(path)
      hash.update(JSON.stringify([relative(overlay, path), text.length])).update(text)
    } catch (error) {
      findings.push(unreadable(path, error))
    }
  }
  if (findings.length > 0) throw new DataError(findings)
  return hash.digest('hex')
}

/** The YAML files of an overlay, sorted. Other files, and the cases of mappings, are skipped. */
export function filesOf(overlay: string, findings: Finding[] = []): string[] {
  const found: string[] = []
  // The deepest file is schemas/<dialect>/client/request.yaml.
  const visit = (folder: string, depth: number): void => {
    try {
      for (const name of readdirSync(folder).sort()) {
        // Kubernetes keeps the files of a volume in folders such as ..data, and links to them.
        if (name.startsWith('.') || name === 'cases') continue
        const path = join(folder, name)
        if (name.endsWith('.yaml')) {
          found.push(path)
          continue
        }
        const status = statusOf(path)
        if (typeof status !== 'string') {
          if (depth < 3 && status.isDirectory()) visit(path, depth + 1)
        } else if (status !== 'ENOENT') findings.push(unreadable(path, { code: status }))
      }
    } catch (error) {
      findings.push(unreadable(folder, error))
    }
  }
  for (const folder of FOLDERS) if (existsSync(join(overlay, folder))) visit(join(overlay, folder), 1)
  return found
}

/** The names of the providers beside a configuration, whether their files are right or not. */
export function providersBeside(config: string): string[] {
  const overlay = overlayOf(config)
  if (overlay === undefined) return []
  const folder = join(overlay, 'providers')
  return filesOf(overlay).flatMap(path => (dirname(path) === folder ? [basename(path, '.yaml')] : []))
}

/** The finding for a file or folder that the process may not read. */
export function unreadable(path: string, error: unknown): Finding {
  return {
    file: display(path),
    line: 1,
    column: 1,
    rule: 'file/unreadable',
    detail: `it cannot be read: ${reasonOf(error)}`,
    remedy: "let the gateway's user read it, or remove it",
  }
}

/** Why the system refused something, in plain words. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return (code !== undefined && REASONS[code]) || code || message
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'the disk quota is exceeded',
  EFBIG: 'the file would be larger than the limit of the process',
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  EEXIST: 'a part of the path is not a folder',
  ELOOP: 'its symbolic links lead in a circle',
}
