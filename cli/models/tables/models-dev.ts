// The table of models.dev (`api.json`): providers, each with its models, prices in USD for a million.

import { day, type Imported, kindsOf, type Note, present, pricesOf, refusedMedia, type TableNames, tokens, unchecked } from '../imported.js'

interface Costs {
  input?: number
  output?: number
  reasoning?: number
  cache_read?: number
  cache_write?: number
  input_audio?: number
  output_audio?: number
  context_over_200k?: Costs
  [other: string]: unknown
}

interface Row {
  id?: string
  name?: string
  reasoning?: boolean
  temperature?: boolean
  structured_output?: boolean
  release_date?: string
  modalities?: { input?: string[]; output?: string[] }
  limit?: { context?: number; input?: number; output?: number }
  cost?: Costs
  [other: string]: unknown
}

const KINDS = { text: 'text', image: 'image', audio: 'audio', video: 'video', pdf: 'pdf' }
const KNOWN = new Set([
  ...['id', 'name', 'reasoning', 'temperature', 'structured_output', 'release_date', 'modalities', 'limit', 'cost'],
  // Fields that nothing here uses.
  ...['attachment', 'tool_call', 'knowledge', 'last_updated', 'open_weights'],
])
const COSTS: Readonly<Record<string, string>> = {
  input: 'input',
  cache_read: 'cached',
  cache_write: 'cache_write',
  input_audio: 'audio_input',
  output: 'output',
  reasoning: 'reasoning',
  output_audio: 'audio_output',
}

/** The models of known providers, in our form. */
export function readModelsDev(table: Record<string, { models?: Record<string, Row> }>, providers: TableNames): Imported {
  const notes: Note[] = []
  const models: Imported['models'] = []
  for (const [provider, names] of providers) {
    for (const name of names) {
      for (const [id, row] of Object.entries(table[name]?.models ?? {})) {
        for (const field of Object.keys(row)) if (!KNOWN.has(field)) notes.push({ kind: 'lost', what: field, detail: id })
        const { context_over_200k, ...cost } = row.cost ?? {}
        for (const field of Object.keys(cost))
          if (COSTS[field] === undefined) notes.push({ kind: 'lost', what: `cost.${field}`, detail: id })
        const above = context_over_200k && metersOf(context_over_200k)
        const traits = present({
          reasoning: row.reasoning === false ? false : undefined,
          sampling: row.temperature === false ? 'fixed' : undefined,
          structured: row.structured_output === true ? 'native' : undefined,
          ...(row.modalities?.output?.includes('text') && refusedMedia(row.modalities.input)),
        })
        models.push({
          provider,
          name: id,
          data: unchecked({
            display_name: row.name,
            created: day(row.release_date),
            context: tokens(row.limit?.input) ?? tokens(row.limit?.context),
            max_output: tokens(row.limit?.output),
            inputs: kindsOf(row.modalities?.input, KINDS),
            outputs: kindsOf(row.modalities?.output, KINDS)?.filter(kind => kind !== 'pdf'),
            traits: Object.keys(traits).length > 0 ? traits : undefined,
            prices: pricesOf(metersOf(cost), above ? [{ input_above: 200_000, ...above }] : []),
          }),
        })
      }
    }
  }
  return { models, notes }
}

function metersOf(costs: Costs): Record<string, number> {
  return Object.fromEntries(
    Object.entries(COSTS).flatMap(([field, meter]) => (typeof costs[field] === 'number' ? [[meter, costs[field] as number]] : [])),
  )
}
