// LiteLLM's table `model_prices_and_context_window`: rows by name, prices in USD for one unit each.

import type { PricesData } from '../../../codegen/read/catalogue-data.js'
import {
  ALWAYS,
  day,
  type Imported,
  type ImportedModel,
  type Note,
  perMillion,
  present,
  refusedMedia,
  type TableNames,
  tokens,
  unchecked,
} from '../imported.js'

type Row = Record<string, unknown>

/** A field of the table with the price of a unit, and its meter. `per` units have one price here. */
const METERS: Readonly<Record<string, { meter: string; per: number }>> = {
  input_cost_per_token: { meter: 'input', per: 1e6 },
  cache_read_input_token_cost: { meter: 'cached', per: 1e6 },
  cache_creation_input_token_cost: { meter: 'cache_write', per: 1e6 },
  cache_creation_input_token_cost_above_1hr: { meter: 'cache_write_1h', per: 1e6 },
  input_cost_per_audio_token: { meter: 'audio_input', per: 1e6 },
  input_cost_per_image_token: { meter: 'image_input', per: 1e6 },
  output_cost_per_token: { meter: 'output', per: 1e6 },
  output_cost_per_reasoning_token: { meter: 'reasoning', per: 1e6 },
  output_cost_per_audio_token: { meter: 'audio_output', per: 1e6 },
  output_cost_per_image_token: { meter: 'image_output', per: 1e6 },
  output_cost_per_image: { meter: 'image', per: 1 },
  input_cost_per_second: { meter: 'second', per: 1 },
  output_cost_per_second: { meter: 'second', per: 1 },
  output_cost_per_video_per_second: { meter: 'second', per: 1 },
  input_cost_per_character: { meter: 'character', per: 1e6 },
  output_cost_per_character: { meter: 'character', per: 1e6 },
  input_cost_per_query: { meter: 'search', per: 1 },
  ocr_cost_per_page: { meter: 'page', per: 1 },
  input_cost_per_request: { meter: 'request', per: 1 },
}

/** Kinds of tokens, by the meter that includes them. */
const WHOLE: Record<string, string> = {
  audio_input: 'input',
  image_input: 'input',
  reasoning: 'output',
  audio_output: 'output',
  image_output: 'output',
}

/** Quantities that tokens include: if a model has prices for both, those of tokens are used. */
const BESIDE_TOKENS = new Set(['image', 'second', 'character'])

const TIERS: Readonly<Record<string, string>> = { batches: 'batch' }
/** Fields that repeat other fields, or that nothing here uses. */
const KNOWN = new Set(['litellm_provider', 'input_cost_per_token_cache_hit', 'mode', 'max_tokens', 'comment', 'metadata', 'rpm', 'tpm'])

/** Factors of all prices: by a field of the table, and by members of the field for the provider's own. */
const REGIONS: Readonly<Record<string, string>> = {
  regional_processing_uplift_multiplier_eu: 'eu',
  regional_processing_uplift_multiplier_us: 'us',
}
const OWN_REGIONS = ['us']
const OWN_TIERS = ['fast']

const OUTPUTS: Readonly<Record<string, string>> = {
  chat: 'text',
  responses: 'text',
  completion: 'text',
  image_generation: 'image',
  image_edit: 'image',
  video_generation: 'video',
  audio_speech: 'audio',
  audio_transcription: 'text',
  embedding: 'vector',
  rerank: 'score',
  moderation: 'score',
}
const OF_TEXT = new Set(['chat', 'responses', 'completion', 'realtime'])

/** Decimals of a price for one: prices are whole pico-units. */
const FINEST = 12

interface Price {
  meter: string
  amount: number
  above?: number
  tier?: string
  resolution?: string
}

/** The meter and condition of a price field; undefined if the field is not a known price. */
function priceOf(field: string, value: unknown): Price | undefined {
  const parts = /^(.*?)(?:_above_(\d+)k_tokens)?(?:_(batches|flex|priority|ultrafast|balanced))?$/.exec(field)
  const [, bare = field, above, tier] = parts ?? []
  const film = /^(output_cost_per_second)_(\d+p|\dk)$/.exec(bare)
  const known = METERS[film?.[1] ?? bare]
  if (known === undefined || typeof value !== 'number') return undefined
  return present({
    meter: known.meter,
    amount: known.per === 1 ? Number(value.toFixed(FINEST)) : (perMillion(value) as number),
    above: above === undefined ? undefined : Number(above) * 1000,
    tier: tier === undefined ? undefined : (TIERS[tier] ?? tier),
    resolution: film?.[2],
  }) as Price
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** The rows of known providers, in our form. `paths` are those of each provider's dialects. */
export function readLitellm(
  table: Record<string, Row>,
  providers: TableNames,
  paths: ReadonlyMap<string, ReadonlyMap<string, string>>,
): Imported {
  const notes: Note[] = []
  const homes = new Map([...providers].flatMap(([provider, names]) => names.map(name => [name, provider] as const)))
  const rows = new Map<string, { provider: string; name: string; key: string; row: Row }>()
  const pictures: { provider: string; name: string; quality?: string; size: string; price: number; key: string }[] = []
  for (const [key, row] of Object.entries(table)) {
    const maker = String(row.litellm_provider)
    const provider = homes.get(maker)
    if (provider === undefined || key === 'sample_spec') continue
    const first = key.split('/')[0] as string
    // A cloud with several makers is one prefix: `vertex_ai/claude-opus-5`, of `vertex_ai-anthropic_models`.
    const isPrefixed = key.includes('/') && (homes.get(first) === provider || maker.startsWith(`${first}-`))
    const name = isPrefixed ? key.slice(first.length + 1) : key
    const picture = /^(?:(low|medium|high|standard|hd)\/)?(\d+)-x-(\d+)\/(.+)$/.exec(name)
    if (picture) {
      const price = row.input_cost_per_image ?? row.output_cost_per_image
      const [, quality, width, height, of] = picture
      if (typeof price === 'number')
        pictures.push({ provider, name: of as string, ...(quality !== undefined && { quality }), size: `${width}x${height}`, price, key })
      continue
    }
    const id = `${provider} ${name}`
    const known = rows.get(id)
    if (known) {
      const fields = [...new Set([...Object.keys(row), ...Object.keys(known.row)])].filter(
        field => !KNOWN.has(field) && field !== 'source' && JSON.stringify(row[field]) !== JSON.stringify(known.row[field]),
      )
      // The row under the provider's own name is the maintained one.
      const taken = key === name ? known : { provider, name, key, row }
      if (fields.length > 0)
        notes.push({ kind: 'odd', what: name, detail: `${known.key} and ${key} differ in ${fields.join(', ')}; ${taken.key} is used` })
      rows.set(id, taken)
    } else rows.set(id, { provider, name, key, row })
  }
  const models = [...rows.values()].map(({ provider, name, row }) => modelOf(provider, name, row, paths.get(provider) ?? new Map(), notes))
  for (const { provider, name, key, price, ...when } of pictures) {
    const model = models.find(one => one.provider === provider && one.name === name)
    const prices = model?.data.prices?.[0]
    if (model === undefined) notes.push({ kind: 'odd', what: name, detail: `${key} has no row` })
    else if (prices?.image_output !== undefined || prices?.output !== undefined)
      // Reported once for all sizes.
      notes.push({
        kind: 'odd',
        what: name,
        detail: 'prices by size and quality and prices of tokens; the prices of tokens are used',
      })
    else {
      const row: PricesData = prices ?? { from: ALWAYS }
      row.when = [...(row.when ?? []), { ...when, image: price }]
      model.data.prices = [row]
    }
  }
  return { models, notes }
}

function modelOf(provider: string, name: string, row: Row, paths: ReadonlyMap<string, string>, notes: Note[]): ImportedModel {
  const mode = String(row.mode ?? '')
  const used = new Set<string>(KNOWN)
  const take = (field: string): unknown => {
    used.add(field)
    return row[field]
  }
  const flag = (field: string): boolean | undefined => {
    const value = take(field)
    return typeof value === 'boolean' ? value : undefined
  }
  const isText = OF_TEXT.has(mode)
  const context = tokens(take('max_input_tokens')) ?? (isText ? undefined : tokens(row.max_tokens))
  const most = tokens(take('max_output_tokens')) ?? tokens(row.max_tokens)
  const inputs = new Set(['text'])
  const listed = take('supported_modalities')
  if (Array.isArray(listed)) for (const one of listed) inputs.add(String(one))
  const media = [
    ['image', 'supports_vision'],
    ['image', 'supports_image_input'],
    ['image', 'supports_embedding_image_input'],
    ['pdf', 'supports_pdf_input'],
    ['audio', 'supports_audio_input'],
    ['video', 'supports_video_input'],
  ] as const
  for (const [kind, field] of media) if (flag(field)) inputs.add(kind)
  if (mode === 'audio_transcription') {
    // The text input beside audio is a hint, not a conversation.
    inputs.add('audio')
    inputs.delete('text')
  }
  const given = take('supported_output_modalities')
  const outputs = new Set<string>(Array.isArray(given) ? given.map(String) : OUTPUTS[mode] === undefined ? [] : [OUTPUTS[mode] as string])
  if (flag('supports_audio_output') && isText) outputs.add('audio')
  const order = ['text', 'image', 'audio', 'video', 'pdf', 'vector', 'score']
  const sorted = (kinds: ReadonlySet<string>): string[] | undefined => {
    const list = order.filter(kind => kinds.has(kind))
    return list.length > 0 ? list : undefined
  }

  const reasoning = flag('supports_reasoning')
  const levels = take('reasoning_effort_levels')
  const says = EFFORTS.map(effort => flag(`supports_${effort}_reasoning_effort`))
  const efforts = Array.isArray(levels)
    ? EFFORTS.filter(effort => levels.includes(effort))
    : reasoning && says.some(said => said !== undefined)
      ? EFFORTS.filter((effort, index) => says[index] ?? ['low', 'medium', 'high'].includes(effort))
      : undefined
  const usual = take('default_reasoning_effort')
  const endpoints = take('supported_endpoints')
  const traits = present({
    thinking: flag('supports_adaptive_thinking') ? 'adaptive' : undefined,
    thinking_budget: flag('supports_legacy_thinking') ? true : undefined,
    always_thinks: flag('thinking_always_on') ? true : undefined,
    reasoning: reasoning === false ? false : undefined,
    reasoning_effort: efforts !== undefined && efforts.length > 0 ? [...efforts] : undefined,
    reasons_by_default: typeof usual === 'string' ? usual !== 'none' : undefined,
    sampling: flag('supports_sampling_params') === false ? 'fixed' : undefined,
    structured: flag('supports_native_structured_output') ? 'native' : undefined,
    parallel_tools: flag('supports_parallel_function_calling') === false ? false : undefined,
    forced_tools: flag('supports_forced_tool_use') === false ? false : undefined,
    prefill: isText ? flag('supports_assistant_prefill') : undefined,
    system_turns: flag('supports_mid_conversation_system') ? true : undefined,
    // A flag that is not there says nothing; only a list of all kinds, or the flag itself, tells what is refused.
    ...(isText && {
      ...refusedMedia(Array.isArray(listed) ? [...inputs] : undefined),
      ...(flag('supports_vision') === false && !inputs.has('image') && { images: false }),
    }),
  })
  const prefer = Array.isArray(endpoints) && isText ? preferred(endpoints.map(String), paths) : undefined
  const prices = pricesIn(name, row, mode, used, notes)
  const source = take('source')
  if (context !== undefined && most !== undefined && isText && most > context)
    notes.push({ kind: 'odd', what: name, detail: `the answer may have more tokens (${most}) than the request (${context})` })
  const retired = take('deprecation_date')
  for (const field of Object.keys(row)) if (!used.has(field)) notes.push({ kind: 'lost', what: field, detail: name })
  return {
    provider,
    name,
    data: unchecked({
      match: name.startsWith('ft:') ? [`${name}:*`] : undefined,
      created: dayIn(name),
      retired: day(retired),
      context,
      max_output: isText ? most : undefined,
      inputs: sorted(inputs),
      outputs: sorted(outputs),
      prefer,
      traits: Object.keys(traits).length > 0 ? traits : undefined,
      prices,
      source: typeof source === 'string' && source !== '' ? source : undefined,
    }),
  }
}

/** The day in a snapshot's name: `-2025-08-07` or `-20250807`. */
function dayIn(name: string): string | undefined {
  const [, year, month, date] = /[-@](20\d\d)-?(\d\d)-?(\d\d)(?!\d)/.exec(name) ?? []
  return day(`${year}-${month}-${date}`)
}

/** The provider's dialect to prefer, if the model is not served at the path of the usual one. */
function preferred(served: readonly string[], paths: ReadonlyMap<string, string>): { speaks: string }[] | undefined {
  const usual = paths.values().next().value
  if (usual === undefined || served.includes(usual)) return undefined
  const other = [...paths].find(([, path]) => served.includes(path))?.[0]
  return other === undefined ? undefined : [{ speaks: other }]
}

function pricesIn(name: string, row: Row, mode: string, used: Set<string>, notes: Note[]): PricesData[] | undefined {
  const found: Price[] = []
  for (const [field, value] of Object.entries(row)) {
    const price = priceOf(field, value)
    if (price === undefined) continue
    used.add(field)
    found.push(price)
  }
  // For image models it is the price of a generated picture; for others that of a picture in the input, which tokens
  // include.
  used.add('input_cost_per_image')
  if (typeof row.input_cost_per_image === 'number' && !found.some(({ meter }) => meter === 'image')) {
    if (mode === 'image_generation' && row.input_cost_per_token === undefined)
      found.push({ meter: 'image', amount: row.input_cost_per_image })
    else notes.push({ kind: 'lost', what: 'input_cost_per_image', detail: name })
  }
  const search = row.search_context_cost_per_query
  if (typeof search === 'object' && search !== null) {
    used.add('search_context_cost_per_query')
    const sizes = [...new Set(Object.values(search))]
    if (sizes.length === 1 && typeof sizes[0] === 'number') found.push({ meter: 'search', amount: sizes[0] })
    else notes.push({ kind: 'lost', what: 'search_context_cost_per_query', detail: `${name} (one price for each size)` })
  }
  used.add('tiered_pricing')
  if (Array.isArray(row.tiered_pricing)) {
    for (const { range, ...step } of row.tiered_pricing as (Row & { range?: [number, number] })[]) {
      for (const [field, value] of Object.entries(step)) {
        const price = priceOf(field, value)
        if (price === undefined || range === undefined) notes.push({ kind: 'lost', what: `tiered_pricing.${field}`, detail: name })
        else if (!found.some(one => one.meter === price.meter && one.above === undefined && range[0] === 0))
          found.push(range[0] > 0 ? { ...price, above: range[0] } : price)
      }
    }
  }
  const hasTokens = found.some(({ meter, amount }) => !BESIDE_TOKENS.has(meter) && meter !== 'search' && amount > 0 && meter !== 'input')
  const kept = found.filter(price => {
    if (price.amount === 0 && price.meter !== 'input' && price.meter !== 'output') return false
    if (price.amount === 0 && ['embedding', 'rerank'].includes(mode) && (price.meter === 'output' || row.input_cost_per_query)) return false
    if (!BESIDE_TOKENS.has(price.meter) || !hasTokens) return true
    notes.push({
      kind: 'odd',
      what: name,
      detail: `a price for each ${price.meter} and prices of tokens; the prices of tokens are used`,
    })
    return false
  })
  const base: Record<string, number> = {}
  const special = new Map<string, NonNullable<PricesData['when']>[number]>()
  for (const { meter, amount, above, tier, resolution } of kept) {
    if (above === undefined && tier === undefined && resolution === undefined) {
      if (base[meter] !== undefined && base[meter] !== amount)
        notes.push({ kind: 'odd', what: name, detail: `two prices for each ${meter}: ${base[meter]} and ${amount}; the first is used` })
      base[meter] ??= amount
      continue
    }
    const when = present({ input_above: above, tier, resolution })
    const key = JSON.stringify(when)
    special.set(key, { ...(special.get(key) ?? when), [meter]: amount })
  }
  if (Object.keys(base).length === 0 && special.size === 0) return undefined
  // A part that costs as much as its whole gets no price of its own: it would keep that price where an exception changes the whole's.
  for (const [part, whole] of Object.entries(WHOLE)) {
    if (base[part] === undefined || base[part] !== base[whole]) continue
    delete base[part]
    for (const one of special.values()) if (one[part] === one[whole]) delete one[part]
  }
  // The first match wins: more conditions come first, then the greater length.
  const rank = (one: Record<string, unknown>): number => Number(one.input_above ?? 0) * 2 + (one.tier === undefined ? 0 : 1)
  const asks = (one: Record<string, unknown>): number => (one.input_above === undefined ? 0 : 1) + (one.tier === undefined ? 0 : 1)
  const when = [...special.values()].sort((left, right) => asks(right) - asks(left) || rank(right) - rank(left))
  const own = (row.provider_specific_entry ?? {}) as Record<string, unknown>
  if (Object.keys(own).every(name => OWN_REGIONS.includes(name) || OWN_TIERS.includes(name))) used.add('provider_specific_entry')
  for (const tier of OWN_TIERS) if (typeof own[tier] === 'number') when.push({ tier, times: own[tier] })
  const regions: Record<string, number> = {}
  for (const region of OWN_REGIONS) if (typeof own[region] === 'number') regions[region] = own[region]
  for (const [field, region] of Object.entries(REGIONS)) {
    used.add(field)
    if (typeof row[field] === 'number') regions[region] = row[field]
  }
  const meters = [...new Set(Object.values(METERS).map(({ meter }) => meter))].filter(meter => base[meter] !== undefined)
  return [
    {
      from: ALWAYS,
      ...Object.fromEntries(meters.map(meter => [meter, base[meter]])),
      ...(when.length > 0 && { when }),
      ...(Object.keys(regions).length > 0 && { regions }),
    },
  ]
}
