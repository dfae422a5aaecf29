// `sluice ledger reconcile FILE`: compares the costs in the ledger with the provider's own figures, by day and model.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { load } from 'js-yaml'
import jsonata from 'jsonata'
import { HOME } from '../../codegen/home.js'
import { LATEST } from '../../engine/core/durations.js'
import { NANO } from '../../engine/core/usage.js'
import { CommandError } from '../output.js'
import { instant } from '../times.js'
import { USUAL_CONFIG } from '../usual-config.js'
import type { Where } from './client.js'
import { readText } from './files.js'
import { askUsage } from './usage.js'

const DAY = 86_400_000
const FORMATS = join(HOME, 'control', 'ledger', 'exports.yaml')

/** A format of exports, from control/ledger/exports.yaml. */
interface Format {
  provider: string
  is: string
  rows: string
  days: string
  grouped?: string
}

const FIGURES = ['cost', 'input', 'output', 'cached', 'requests'] as const
type Figure = (typeof FIGURES)[number]

/** The figures of a model on a day. Money is in units of the currency. */
type Figures = Partial<Record<Figure, number>>

/** A page of JSON; a line of CSV has no other after it. */
interface Page {
  has_more?: boolean
  next_page?: string | null
}

interface ExportRow extends Figures {
  time: number | string
  model?: string | null
  currency?: string
}

interface Export {
  provider: string
  currency: string | undefined
  /** The figures by day, such as `2026-11-22`, and model. */
  days: Map<string, Map<string, Figures>>
}

/** Two figures that differ; `ledger` or `provider` is undefined if that side has none. */
interface Difference {
  day: string
  model: string
  figure: Figure
  provider: number | null
  ledger: number | null
  /** The ledger's excess as a fraction of the provider's figure. */
  part: number | null
}

export interface Reconciled {
  provider: string
  upstreams: string[]
  currency: string
  /** The compared days, and those that were skipped because they have not ended. */
  days: string[]
  skipped: string[]
  /** The number of compared pairs of model and day. */
  compared: number
  totals: { provider: Figures; ledger: Figures }
  differences: Difference[]
}

export interface ReconcileOptions extends Where {
  upstream?: string[]
  /** The tolerated difference as a fraction, such as 0.01. */
  tolerance: number
  /** Smaller amounts of money are ignored. */
  least: number
  today?: boolean
}

/** Reads exports of one format. Throws a `CommandError` if a file has no known format, or has further pages. */
async function readExport(files: readonly string[]): Promise<Export> {
  const formats = load(readFileSync(FORMATS, 'utf8')) as Record<string, Format>
  let found: Export | undefined
  for (const [index, file] of files.entries()) {
    const input = contentOf(file)
    if (index === files.length - 1) checkLast(input, file)
    const [, format] = (await firstOf(Object.entries(formats), ([, one]) => jsonata(one.is).evaluate(input))) ?? []
    if (format === undefined)
      throw new CommandError(`${file} is not a known export. Known are ${Object.keys(formats).join(', ')} (control/ledger/exports.yaml).`)
    if (found !== undefined && found.provider !== format.provider)
      throw new CommandError(`${file} is an export of ${format.provider}, but the files before it are of ${found.provider}.`)
    const rows = await evaluated<ExportRow>(format.rows, input, file)
    if (rows.length > 0 && rows.every(row => !row.model))
      throw new CommandError(`${file} does not name its models${format.grouped === undefined ? '' : `: ${format.grouped}`}.`)
    found ??= { provider: format.provider, currency: undefined, days: new Map() }
    for (const time of await evaluated<ExportRow['time']>(format.days, input, file)) dayIn(found, time, file)
    for (const row of rows) add(found, row, file)
  }
  return found as Export
}

/** The list that an expression makes of an export. Throws a `CommandError` if it has a value of another form. */
async function evaluated<One>(expression: string, input: readonly object[], file: string): Promise<One[]> {
  try {
    const made = (await jsonata(expression).evaluate(input)) as One | One[] | undefined
    return made === undefined ? [] : ([made].flat() as One[])
  } catch (error) {
    throw new CommandError(`${file} has a value that cannot be read: ${(error as { message: string }).message}.`)
  }
}

/** Throws a `CommandError` if the last page of an export has another one after it. */
function checkLast(pages: readonly Page[], file: string): void {
  const last = pages.at(-1)
  if (last?.has_more)
    throw new CommandError(
      `${file} continues with the page ${last.next_page}: put all pages into it, as a list, or name their files in order.`,
    )
}

async function firstOf<One>(list: readonly One[], test: (one: One) => Promise<unknown>): Promise<One | undefined> {
  for (const one of list) if ((await test(one)) === true) return one
  return undefined
}

/** The pages of a JSON file, or the lines of a CSV file. */
function contentOf(file: string): Page[] {
  const text = readText(file).replace(/^\uFEFF/, '')
  try {
    if (!/^\s*[[{]/.test(text)) return parse(text, { columns: true, skip_empty_lines: true, relax_column_count: true })
    return [JSON.parse(text)].flat() as Page[]
  } catch (error) {
    throw new CommandError(`${file} is neither JSON nor CSV: ${error instanceof Error ? error.message : error}`)
  }
}

/** The day of a time; an export that covers a day has it, with or without rows. */
function dayIn(to: Export, time: ExportRow['time'], file: string): string {
  const milliseconds = typeof time === 'number' ? time * 1_000 : instant(time)
  if (milliseconds === undefined || !(Math.abs(milliseconds) <= LATEST))
    throw new CommandError(`${file} has a row with the date ${time}, which is not valid.`)
  const day = new Date(milliseconds).toISOString().slice(0, 10)
  if (!to.days.has(day)) to.days.set(day, new Map())
  return day
}

function add(to: Export, row: ExportRow, file: string): void {
  const day = dayIn(to, row.time, file)
  const currency = row.currency?.toUpperCase()
  if (currency !== undefined && to.currency !== undefined && currency !== to.currency)
    throw new CommandError(`${file} has ${currency} and ${to.currency}: only one currency can be compared.`)
  to.currency ??= currency
  addFigures(to.days, day, row.model || '(none)', row)
}

function addFigures(days: Export['days'], day: string, model: string, more: Figures): void {
  const models = days.get(day) ?? new Map<string, Figures>()
  days.set(day, models)
  const name = nameOf(model)
  const known = models.get(name) ?? {}
  models.set(name, known)
  for (const figure of FIGURES) {
    const value = more[figure]
    if (typeof value === 'number' && !Number.isNaN(value)) known[figure] = (known[figure] ?? 0) + value
  }
}

/** One name for a model, its dated versions, and its display name: `Claude Haiku 4.5` is `claude-haiku-4-5`. */
function nameOf(model: string): string {
  return model
    .trim()
    .toLowerCase()
    .replaceAll(/[\s.]+/g, '-')
    .replace(/-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, '')
}

/** Compares the ledger with exports. */
export async function reconcile(files: readonly string[], options: ReconcileOptions): Promise<Reconciled> {
  const exported = await readExport(files)
  const upstreams = options.upstream ?? upstreamsOf(exported.provider, options)
  const now = Date.now()
  const all = [...exported.days.keys()].sort()
  const isOver = (day: string): boolean => Date.parse(day) + DAY <= now
  const days = all.filter(day => options.today || isOver(day))
  const ledger: Export['days'] = new Map()
  let currency = exported.currency ?? ''
  for (const day of days) currency = await addDay(ledger, day, upstreams, options)
  if (exported.currency !== undefined && currency !== exported.currency)
    throw new CommandError(`The export is in ${exported.currency}, and the ledger in ${currency}.`)
  const figures = figuresOf(exported)
  const differences: Difference[] = []
  const totals = { provider: {} as Figures, ledger: {} as Figures }
  let compared = 0
  for (const day of days) {
    const [theirs, ours] = [exported.days.get(day) ?? new Map<string, Figures>(), ledger.get(day) ?? new Map<string, Figures>()]
    for (const model of [...new Set([...theirs.keys(), ...ours.keys()])].sort()) {
      compared++
      for (const figure of figures) {
        const [provider, own] = [theirs.get(model)?.[figure], ours.get(model)?.[figure]]
        totals.provider[figure] = (totals.provider[figure] ?? 0) + (provider ?? 0)
        totals.ledger[figure] = (totals.ledger[figure] ?? 0) + (own ?? 0)
        if (isSame(figure, provider ?? 0, own ?? 0, options)) continue
        const part = provider ? ((own ?? 0) - provider) / provider : null
        differences.push({ day, model, figure, provider: provider ?? null, ledger: own ?? null, part })
      }
    }
  }
  const skipped = all.filter(day => !days.includes(day))
  return { provider: exported.provider, upstreams, currency, days, skipped, compared, totals, differences }
}

/** The figures of an export, also of days that are not compared. One without any row says that nothing was billed. */
function figuresOf({ days }: Export): Figure[] {
  const rows = [...days.values()].flatMap(models => [...models.values()])
  return rows.length === 0 ? ['cost'] : FIGURES.filter(figure => rows.some(row => row[figure] !== undefined))
}

function isSame(figure: Figure, provider: number, ledger: number, { tolerance, least }: ReconcileOptions): boolean {
  const by = Math.abs(ledger - provider)
  return by <= tolerance * Math.abs(provider) || (figure === 'cost' && by < least)
}

/** The upstreams of a provider in the configuration. */
function upstreamsOf(provider: string, { config, url }: Where): string[] {
  const file = config ?? USUAL_CONFIG
  if (url !== undefined || !existsSync(file))
    throw new CommandError(`Name the upstreams of ${provider} with --upstream, or the file that has them with --config.`)
  const { upstreams = {} } = (load(readFileSync(file, 'utf8')) ?? {}) as { upstreams?: Record<string, { provider?: string } | null> }
  const names = Object.keys(upstreams).filter(name => upstreams[name]?.provider === provider)
  if (names.length === 0) throw new CommandError(`${file} has no upstream of ${provider}: name its upstreams with --upstream.`)
  return names
}

/** Adds the ledger's figures of a day, and returns their currency. */
async function addDay(to: Export['days'], day: string, upstreams: readonly string[], where: Where): Promise<string> {
  const from = Date.parse(day)
  const { first, items } = await askUsage(where, { by: 'target', from, to: from + DAY })
  for (const row of items) {
    const target = row.target as string | null
    const at = target?.indexOf('/') ?? -1
    if (target === null || at < 0 || !upstreams.includes(target.slice(0, at))) continue
    const { n, input, output, cached, cost } = row as Record<string, number>
    addFigures(to, day, target.slice(at + 1), { requests: n, input, output, cached, cost: (cost as number) / NANO } as Figures)
  }
  return first.currency
}
