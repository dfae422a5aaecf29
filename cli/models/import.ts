// `sluice models import`: converts another table of models to files of models/, and reports the differences.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { PricesData, WrittenCatalogue, WrittenModel } from '../../codegen/read/catalogue-data.js'
import type { Project } from '../../codegen/read/project.js'
import { parseYaml } from '../../codegen/read/yaml.js'
import { beginningOf } from '../../engine/core/durations.js'
import { isObject } from '../../engine/core/members.js'
import { UsageError } from '../output.js'
import { builtIn } from '../project.js'
import type { Imported, Note, TableNames } from './imported.js'
import { confirmation } from './sources.js'
import { readLitellm } from './tables/litellm.js'
import { readModelsDev } from './tables/models-dev.js'
import { readOpenrouter } from './tables/openrouter.js'
import { inline, printModels } from './write.js'

export interface ImportOptions {
  /** The output folder below models/. Default `models/imported` in the working folder. */
  out?: string
  /** The day on which the table was read. Default today. */
  read?: string
  /** The name of the table in the files. Default its kind and its file's name. */
  source?: string
  /** Writes nothing and only reports. */
  dryRun?: boolean
  /** Prints one JSON document. */
  json?: boolean
}

type Table = 'litellm' | 'models.dev' | 'openrouter'

interface Change {
  file: string
  model: string
  fact: string
  before: string
  after: string
  /** The page that said it as it was before, and when it was looked at. */
  confirmed?: string
}

/** Writes the files and reports the findings. Throws a UsageError for a file that is no such table, and for a day that is none. */
export function importModels(kind: string, path: string, options: ImportOptions = {}): void {
  if (options.read !== undefined && beginningOf(options.read) === undefined)
    throw new UsageError(`${options.read || "''"} is not a day: write one such as 2026-11-22.`)
  const table = tableIn(path, kind as Table)
  const day = options.read ?? new Date().toISOString().slice(0, 10)
  const source = options.source ?? `${kind}: ${path.split(/[\\/]/).at(-1) as string}`
  const project = builtIn()
  const imported = readTable(kind as Table, table, project)
  const out = resolve(options.out ?? join('models', 'imported'))
  const changes: Change[] = []
  const gone: string[] = []
  const providers = [...new Set(imported.models.map(({ provider }) => provider))].sort()
  for (const provider of providers) {
    const file = join(out, `${provider}.yaml`)
    const known = existsSync(file) ? (parseYaml(file, readFileSync(file, 'utf8'), [])[0]?.value as WrittenCatalogue | undefined) : undefined
    const models: Record<string, WrittenModel> = { ...known?.models }
    const seen = new Set<string>()
    for (const { name, data } of imported.models.filter(model => model.provider === provider)) {
      seen.add(name)
      const before = known?.models[name]
      const after = before === undefined ? data : { ...data, ...(data.prices && { prices: dated(before.prices, data.prices, day) }) }
      if (known !== undefined)
        for (const change of changesOf(file, name, before, after)) {
          const page = before === undefined ? undefined : confirmation(project.catalogue, provider, name, change.fact)
          changes.push({ ...change, ...(page && { confirmed: `${page.source}, ${page.read}` }) })
        }
      models[name] = after
    }
    for (const name of Object.keys(known?.models ?? {})) if (!seen.has(name)) gone.push(`${file}: ${name}`)
    const text = printModels(
      { title: project.providers.get(provider)?.data.title ?? provider, source, read: day, providers: [provider], models },
      `Made by \`sluice models import ${kind}\`. Corrections are in a file beside this folder, which overrides this one.`,
      '../../schemas/config/models.yaml',
    )
    if (options.dryRun) continue
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  if (options.json) {
    const { models, notes } = imported
    console.log(JSON.stringify({ ok: true, findings: [], models: models.length, providers, notes, changes, gone }, null, 2))
  } else tell(imported, changes, gone, providers)
}

function tableIn(path: string, kind: Table): Record<string, never> {
  let table: unknown
  try {
    table = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    throw new UsageError(`${path} cannot be read as JSON. Name the file with the table.`)
  }
  if (!isTable(table, kind)) throw new UsageError(`${path} is not a table of ${kind}. Name the file with the table.`)
  return table as Record<string, never>
}

/** Whether everything that is a row of a table, or has rows, is an object. */
function isTable(table: unknown, kind: Table): boolean {
  if (!isObject(table)) return false
  if (kind === 'openrouter') return Array.isArray(table.data) && table.data.every(row => isObject(row) && typeof row.id === 'string')
  const rows = Object.values(table)
  if (kind === 'litellm') return rows.every(isObject)
  return rows.every(provider => isObject(provider) && isObject(provider.models) && Object.values(provider.models).every(isObject))
}

function readTable(kind: Table, table: Record<string, never>, project: Project): Imported {
  const known: TableNames = new Map(
    [...project.providers].flatMap(([name, { data }]) => (data.known_as?.[kind] ? [[name, data.known_as[kind]] as const] : [])),
  )
  if (kind === 'models.dev') return readModelsDev(table, known)
  if (kind === 'openrouter') return readOpenrouter(table as unknown as { data: never[] }, known)
  const endpoints = new Map(
    [...project.providers].map(
      ([name, { data }]) => [name, new Map(Object.entries(data.speaks).map(([dialect, endpoint]) => [dialect, endpoint.path]))] as const,
    ),
  )
  return readLitellm(table, known, endpoints)
}

/** The earlier prices, followed by today's if they differ. */
function dated(before: PricesData[] | undefined, after: PricesData[], day: string): PricesData[] {
  const last = before?.at(-1)
  if (before === undefined || last === undefined) return after
  const { from: _, ...now } = after.at(-1) as PricesData
  const { from: __, ...then } = last
  if (isDeepStrictEqual(now, then)) return before
  // A second import on one day corrects the first.
  return [...before.filter(row => row.from !== day), { from: day, ...now }]
}

function changesOf(file: string, model: string, before: WrittenModel | undefined, after: WrittenModel): Change[] {
  if (before === undefined) return [{ file, model, fact: 'the model', before: 'absent', after: 'there' }]
  const facts = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof WrittenModel)[]
  return facts
    .filter(fact => !isDeepStrictEqual(before[fact], after[fact]))
    .map(fact => ({ file, model, fact, before: said(before[fact]), after: said(after[fact]) }))
}

function said(value: unknown): string {
  return value === undefined ? 'absent' : inline(value)
}

/** Examples of unsupported models that are printed. */
const EXAMPLES = 3

function tell({ models, notes }: Imported, changes: readonly Change[], gone: readonly string[], providers: readonly string[]): void {
  console.log(`${models.length} models of ${providers.length} providers`)
  const lost = new Map<string, string[]>()
  for (const { what, detail } of notes.filter(({ kind }) => kind === 'lost')) lost.set(what, [...(lost.get(what) ?? []), detail])
  section(
    'Unsupported',
    [...lost].map(([what, models]) => `${what}: ${models.length}, such as ${models.slice(0, EXAMPLES).join(', ')}`),
  )
  section('The table contradicts itself', oddities(notes))
  section(
    'Changed',
    changes.map(
      ({ file, model, fact, before, after, confirmed }) =>
        `${file}: ${model}: ${fact}: ${before} → ${after}${confirmed === undefined ? '' : `; it was confirmed (${confirmed})`}`,
    ),
  )
  section('Missing in the table, and kept', gone)
}

function oddities(notes: readonly Note[]): string[] {
  return [...new Set(notes.filter(({ kind }) => kind === 'odd').map(({ what, detail }) => `${what}: ${detail}`))]
}

function section(title: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log(`\n${title} (${lines.length}):\n${lines.map(line => `  ${line}`).join('\n')}`)
}
