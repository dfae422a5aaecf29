// The prices in models/imported/ are those of the imported table, computed here a second time: for 200 random rows that are
// kept beside this file, or 200 others of the table itself, if SLUICE_PRICE_TABLE names it, with SLUICE_SEED as the seed.

import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import { entriesFor } from '../../engine/snapshot/catalogue.js'
import { plan } from '../engine/plan.js'

const root = join(import.meta.dirname, '../..')
type Row = Record<string, unknown> & { litellm_provider: string }
const TABLE = process.env.SLUICE_PRICE_TABLE
const kept = JSON.parse(readFileSync(join(import.meta.dirname, 'prices-of-litellm.json'), 'utf8')) as { rows: Record<string, Row> }

const homes = new Map<string, string>()
for (const file of readdirSync(join(root, 'models/imported'))) {
  const name = basename(file, '.yaml')
  const { known_as } = load(readFileSync(join(root, 'providers', file), 'utf8')) as { known_as: { litellm: string[] } }
  for (const other of known_as.litellm) homes.set(other, name)
}

/** So many rows by a seed: a linear congruential generator is enough to draw with. */
function drawn(rows: Record<string, Row>, count: number, seed: number): [string, Row][] {
  let state = seed
  // Of two rows about one model, the one with the provider's own name was used, as `sluice models import` reported.
  const isSecond = (name: string, row: Row): boolean =>
    Object.hasOwn(rows, `${row.litellm_provider}/${name}`) || Object.hasOwn(rows, `${row.litellm_provider.split('-')[0]}/${name}`)
  const left = Object.entries(rows).filter(
    ([name, row]) =>
      homes.has(row.litellm_provider) &&
      !isSecond(name, row) &&
      !/\d-x-\d/.test(name) &&
      Object.keys(row).some(field => field.includes('cost')),
  )
  return Array.from({ length: Math.min(count, left.length) }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return left.splice(Math.floor((state / 2 ** 31) * left.length), 1)[0] as [string, Row]
  })
}

const MILLION = 1e6
/** A field of the table that prices one unit, the meter, and how many units our price is for. */
const FIELDS: Record<string, [meter: string, per: number]> = {
  input_cost_per_token: ['input', MILLION],
  output_cost_per_token: ['output', MILLION],
  cache_read_input_token_cost: ['cached', MILLION],
  cache_creation_input_token_cost: ['cache_write', MILLION],
  cache_creation_input_token_cost_above_1hr: ['cache_write_1h', MILLION],
  input_cost_per_audio_token: ['audio_input', MILLION],
  input_cost_per_image_token: ['image_input', MILLION],
  output_cost_per_reasoning_token: ['reasoning', MILLION],
  output_cost_per_audio_token: ['audio_output', MILLION],
  output_cost_per_image_token: ['image_output', MILLION],
  input_cost_per_query: ['search', 1],
  ocr_cost_per_page: ['page', 1],
  output_cost_per_image: ['image', 1],
  input_cost_per_second: ['second', 1],
  output_cost_per_second: ['second', 1],
  input_cost_per_character: ['character', MILLION],
}
const TIERS: Record<string, string> = { batches: 'batch', flex: 'flex', priority: 'priority', ultrafast: 'ultrafast', balanced: 'balanced' }
/** Of what has tokens and something else, tokens are what is paid for. */
const BESIDE = ['image', 'second', 'character']

interface Price {
  when?: Record<string, unknown>[]
  regions?: Record<string, number>
  [meter: string]: unknown
}

/** What has the price of what it is a part of needs none of its own. */
const WHOLE: Record<string, string> = {
  audio_input: 'input',
  image_input: 'input',
  reasoning: 'output',
  audio_output: 'output',
  image_output: 'output',
}

const isNear = (one: unknown, other: number): boolean => typeof one === 'number' && Math.abs(one - other) <= Math.abs(other) * 1e-9 + 1e-12

const wrong: string[] = []
let compared = 0
for (const [key, row] of drawn(
  TABLE === undefined ? kept.rows : (JSON.parse(readFileSync(TABLE, 'utf8')) as Record<string, Row>),
  200,
  Number(process.env.SLUICE_SEED ?? 1),
)) {
  const provider = homes.get(row.litellm_provider) as string
  const first = key.split('/')[0] as string
  const isPrefixed = key.includes('/') && (homes.get(first) === provider || row.litellm_provider.startsWith(`${first}-`))
  const name = isPrefixed ? key.slice(first.length + 1) : key
  const entries = entriesFor(plan.catalogue ?? [], provider, name).filter(({ isAway }) => !isAway)
  const entry = entries.findLast(({ entry }) => entry.facts.prices)?.entry
  const price = (entry?.facts.prices?.at(-1) ?? {}) as Price
  // What was corrected by hand says where it was read.
  if (entry !== undefined && !entry.at.startsWith('models/imported/')) {
    if (entry.facts.source === undefined) wrong.push(`${key}: ${entry.at} has other prices, and no source`)
    continue
  }
  const hasTokens = [
    'output_cost_per_token',
    'output_cost_per_image_token',
    'output_cost_per_audio_token',
    'input_cost_per_audio_token',
    'input_cost_per_image_token',
  ].some(field => Number(row[field] ?? 0) > 0)
  for (const [field, value] of Object.entries(row)) {
    const parts = /^(.*?)(?:_above_(\d+)k_tokens)?(?:_(batches|flex|priority|ultrafast|balanced))?$/.exec(field)
    const [meter, per] = FIELDS[parts?.[1] ?? ''] ?? []
    if (meter === undefined || per === undefined || typeof value !== 'number') continue
    if ((value === 0 && (meter !== 'input' || row.input_cost_per_query !== undefined)) || (hasTokens && BESIDE.includes(meter))) continue
    const above = parts?.[2] === undefined ? undefined : Number(parts[2]) * 1_000
    const tier = parts?.[3] === undefined ? undefined : TIERS[parts[3]]
    const terms =
      above === undefined && tier === undefined
        ? price
        : price.when?.find(one => one.input_above === above && one.tier === tier && one.resolution === undefined)
    compared++
    const here = terms?.[meter] ?? terms?.[WHOLE[meter] ?? '']
    if (!isNear(here, value * per)) wrong.push(`${key}: ${field} is ${value}, and ${meter} here ${JSON.stringify(here)} (${entry?.at})`)
  }
  for (const region of ['eu', 'us']) {
    const times =
      row[`regional_processing_uplift_multiplier_${region}`] ??
      (row.provider_specific_entry as Record<string, number> | undefined)?.[region]
    if (times !== price.regions?.[region]) wrong.push(`${key}: times ${times} in ${region}, and here ${price.regions?.[region]}`)
  }
}

test('more than 400 prices are compared', () => expect(compared).toBeGreaterThan(400))
test('each price in models/ equals that of the table', () => expect(wrong).toEqual([]))
