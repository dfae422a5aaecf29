// Files beside gateway.yaml that look like its data and that nothing reads.

import { existsSync, readdirSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import { HOME } from '../../codegen/home.js'
import { display } from '../../codegen/read/display.js'
import type { Finding } from '../../codegen/read/findings.js'
import { isFolder } from '../../codegen/read/status.js'
import { nearest } from '../../codegen/read/suggest.js'
import { FOLDERS } from './inputs.js'

/** The paths of the files that are read, by their folder, and what is said of others. */
const READ: Readonly<Record<(typeof FOLDERS)[number], { path: RegExp; said: string }>> = {
  routes: { path: /^[^/]+$/, said: 'routes/<name>.yaml' },
  schemas: {
    path: /^[^/]+\/([^/]+|(client|provider)\/[^/]+)$/,
    said: 'schemas/<dialect>/<part>.yaml, schemas/<dialect>/client/<part>.yaml or schemas/<dialect>/provider/<part>.yaml',
  },
  mappings: {
    path: /^(library\.yaml|library\/[^/]+|[^/]+\/mapping\.yaml)$/,
    said: 'mappings/<from>-to-<to>/mapping.yaml, mappings/library.yaml or mappings/library/<part>.yaml',
  },
  providers: { path: /^[^/]+$/, said: 'providers/<name>.yaml' },
  models: { path: /^([^/]+|imported\/[^/]+)$/, said: 'models/<maker>.yaml' },
}

/** Levels of folders that are looked into. */
const DEEP = 4

/** A warning for each file beside a configuration that is not read because of its place, its name or its ending. */
export function unreadBeside(folder: string): Finding[] {
  // The built-in data has more than an overlay may have.
  if (resolve(folder) === HOME) return []
  const known = FOLDERS.filter(name => existsSync(join(folder, name)))
  const misnamed = namesIn(folder).flatMap(name => {
    const meant = FOLDERS.find(one => one === name) === undefined ? nearest(FOLDERS, name) : undefined
    const [first] = meant === undefined ? [] : filesIn(join(folder, name))
    return first === undefined ? [] : [unread(first, `nothing reads the folder ${name}`, `did you mean ${meant}?`)]
  })
  return [...misnamed, ...known.flatMap(name => unreadIn(join(folder, name), name))]
}

function unreadIn(folder: string, name: (typeof FOLDERS)[number]): Finding[] {
  const { path, said } = READ[name]
  return filesIn(folder).flatMap(file => {
    const within = relative(folder, file).split(sep).join('/')
    const isYaml = file.endsWith('.yaml')
    if (isYaml && path.test(within)) return []
    const whole = isYaml ? within : within.replace(/\.yml$/, '.yaml')
    const remedy = path.test(whole) ? `name it ${basename(whole)}` : `files are read as ${said}`
    return [unread(file, `nothing reads ${name}/${within}`, remedy)]
  })
}

function unread(path: string, detail: string, remedy: string): Finding {
  return { file: display(path), line: 1, column: 1, rule: 'overlay/unread', detail, remedy }
}

/** The files with YAML in a folder, without the cases of mappings. */
function filesIn(folder: string, depth = 1): string[] {
  if (!isFolder(folder) || depth > DEEP) return []
  return namesIn(folder).flatMap(name => {
    const path = join(folder, name)
    if (name === 'cases') return []
    return /\.ya?ml$/.test(name) && !isFolder(path) ? [path] : filesIn(path, depth + 1)
  })
}

/** The names in a folder; what cannot be read is reported elsewhere. Names with a dot are not looked at, as by the readers. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter(name => !name.startsWith('.'))
      .sort()
  } catch {
    return []
  }
}
