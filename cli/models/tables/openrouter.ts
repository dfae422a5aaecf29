// OpenRouter's list of models (`GET /api/v1/models`): prices in USD for one unit, as texts.

import {
  day,
  type Imported,
  kindsOf,
  type Note,
  perMillion,
  present,
  pricesOf,
  refusedMedia,
  type TableNames,
  tokens,
  unchecked,
} from '../imported.js'

interface Row {
  id: string
  name?: string
  created?: number
  context_length?: number
  expiration_date?: string | null
  architecture?: { input_modalities?: string[]; output_modalities?: string[] }
  pricing?: Record<string, unknown>
  top_provider?: { context_length?: number | null; max_completion_tokens?: number | null }
  supported_parameters?: string[]
}

const KINDS: Readonly<Record<string, string>> = {
  text: 'text',
  image: 'image',
  audio: 'audio',
  video: 'video',
  file: 'pdf',
  embeddings: 'vector',
}
/** Prices of tokens, and of single units. */
const TOKENS: Readonly<Record<string, string>> = {
  prompt: 'input',
  input_cache_read: 'cached',
  input_cache_write: 'cache_write',
  audio: 'audio_input',
  completion: 'output',
  internal_reasoning: 'reasoning',
}
const SINGLE: Readonly<Record<string, string>> = { request: 'request', web_search: 'search' }

/** Its models in our form, for each provider that the table knows by name. */
export function readOpenrouter(table: { data: Row[] }, providers: TableNames): Imported {
  const notes: Note[] = []
  const models: Imported['models'] = []
  for (const [provider] of providers) {
    for (const row of table.data) {
      const prices: Record<string, number | undefined> = {}
      for (const [field, price] of Object.entries(row.pricing ?? {})) {
        const amount = perMillion(price)
        // A negative price means that it is not known in advance; a zero price of an extra is no price.
        if (amount === undefined) notes.push({ kind: 'lost', what: `pricing.${field}`, detail: row.id })
        else if (TOKENS[field] !== undefined && (amount > 0 || field === 'prompt' || field === 'completion'))
          prices[TOKENS[field] as string] = amount
        else if (SINGLE[field] !== undefined && amount > 0) prices[SINGLE[field] as string] = Number(Number(price).toFixed(12))
        else if (amount > 0) notes.push({ kind: 'lost', what: `pricing.${field}`, detail: row.id })
      }
      const takes = (name: string): boolean => row.supported_parameters?.includes(name) !== false
      const traits = present({
        sampling: !takes('temperature') && !takes('top_p') ? 'fixed' : undefined,
        ...(row.architecture?.output_modalities?.includes('text') && refusedMedia(row.architecture.input_modalities)),
      })
      models.push({
        provider,
        name: row.id,
        data: unchecked({
          display_name: row.name,
          created: row.created === undefined ? undefined : new Date(row.created * 1000).toISOString().slice(0, 10),
          retired: day(row.expiration_date),
          context: tokens(row.top_provider?.context_length) ?? tokens(row.context_length),
          max_output: tokens(row.top_provider?.max_completion_tokens),
          inputs: kindsOf(row.architecture?.input_modalities, KINDS),
          outputs: kindsOf(row.architecture?.output_modalities, KINDS)?.filter(kind => kind !== 'pdf'),
          traits: Object.keys(traits).length > 0 ? traits : undefined,
          prices: pricesOf(prices),
        }),
      })
    }
  }
  return { models, notes }
}
