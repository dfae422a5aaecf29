// Data folders for tests that break them: the project's own, copied to a temporary folder, with two small dialects beside
// them. Where a finding is expected, the text contains a mark; the mark is removed, and its position must be the finding's.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll } from 'vitest'
import type * as Generate from '../../codegen/compile.js'
import type { Plan } from '../../engine/plan.js'
import { importPlan } from '../import-plan.js'

export const root = join(import.meta.dirname, '../..')
/** Generated modules import the built engine, so it is the built compiler that is driven. */
const { generate } = (await import(pathToFileURL(join(root, 'dist/codegen/compile.js')).href)) as typeof Generate

export const MARK = '◆'

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

export function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-data-'))
  folders.push(folder)
  return folder
}

export interface Finding {
  position: string
  rule: string
  detail: string
  remedy: string
}

export interface Fixture {
  folder: string
  /** Writes a file, by its path in the folder. */
  write(path: string, text: string): void
  /** Replaces a text that the file must hold. */
  edit(path: string, from: string, to: string): void
  /** Positions of the marks in what was written, in their order: `file:line:col`. */
  marks: string[]
  /** What is wrong with the data, in the order in which it is printed; `more` are folders laid over it. */
  findings(...more: Fixture[]): Finding[]
  /** What is made of the data. Throws where something is wrong with it. */
  plan(...more: Fixture[]): Promise<Plan>
}

/**
 * A folder of data: empty, what is needed to compile anything (`small`), or a copy of the project's own, with all its
 * mappings (`all`) or none (`unmapped`).
 */
export function fixture(size: 'empty' | 'small' | 'unmapped' | 'all'): Fixture {
  const folder = temporary()
  const marks: string[] = []
  const copied: Record<typeof size, readonly string[]> = {
    empty: [],
    small: ['schemas/config', 'schemas/chat', 'routes/_credentials.yaml', 'routes/chat.yaml', 'mappings/library.yaml'],
    unmapped: ['schemas', 'routes', 'providers', 'mappings/library.yaml'],
    all: ['schemas', 'routes', 'providers', 'mappings'],
  }
  const isHalf = (path: string): boolean => ['client', 'provider'].includes(basename(path))
  for (const name of copied[size])
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: path => size === 'all' || !isHalf(path) })
  const write = (path: string, text: string): void => {
    const file = join(folder, path)
    let rest = text
    for (let at = rest.indexOf(MARK); at >= 0; at = rest.indexOf(MARK)) {
      const before = rest.slice(0, at)
      marks.push(`${path}:${before.split('\n').length}:${at - before.lastIndexOf('\n')}`)
      rest = before + rest.slice(at + MARK.length)
    }
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, rest)
  }
  const compile = (more: readonly Fixture[]): void => {
    generate([folder, ...more.map(other => other.folder)], join(folder, 'generated'))
  }
  return {
    folder,
    write,
    marks,
    edit(path, from, to) {
      const text = readFileSync(join(folder, path), 'utf8')
      if (!text.includes(from)) throw new Error(`${path} does not hold ${from}`)
      write(
        path,
        text.replace(from, () => to),
      )
    },
    findings(...more) {
      try {
        compile(more)
        return []
      } catch (error) {
        if (!(error instanceof Error) || error.constructor.name !== 'DataError') throw error
        return error.message.split('\n').map(line => {
          const [position = '', rule = '', detail = '', ...remedy] = line.split('  ')
          const own = [folder, ...more.map(other => other.folder)].find(path => position.startsWith(path)) ?? ''
          return { position: position.slice(own.length).replace(/^\//, ''), rule, detail, remedy: remedy.join('  ') }
        })
      }
    },
    async plan(...more) {
      compile(more)
      return importPlan(pathToFileURL(join(folder, 'generated/plan.js')).href)
    },
  }
}

/** Two dialects to map between: clients speak `tiny`; `typed` providers say in each event what it is, `plain` ones do not. */
export function withDialects(data: Fixture): Fixture {
  const request =
    'type: object\nrequired: [model]\nproperties:\n  model: { type: string }\n  text: { type: string }\n  stream: { type: boolean }\n'
  for (const [name, line] of [
    ['tiny', ''],
    ['typed', '  event_line: type\n'],
    ['plain', ''],
  ]) {
    data.write(
      `schemas/${name}/format.yaml`,
      `title: ${name}\nresponse: json\nstream:\n  flag: body.stream\n  framing: sse\n${line}  sentinel: END\n  watch: {}\nerror: chat\n`,
    )
    data.write(`schemas/${name}/request.yaml`, request)
  }
  return data
}
