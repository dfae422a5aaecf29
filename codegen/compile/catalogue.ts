// Compiles the files of models/ to the plan's entries: resolves names, and checks what the grammar of one file cannot.

import type { CatalogueEntry, ModelFacts } from '../../engine/plan.js'
import { fits, weightOf } from '../../engine/snapshot/catalogue.js'
import type { CatalogueFile } from '../read/catalogue.js'
import type { ModelData } from '../read/catalogue-data.js'
import type { Finding } from '../read/findings.js'
import { useOneOf } from '../read/suggest.js'
import type { SourcePosition } from '../read/yaml.js'

interface Known {
  providers: { has(name: string): boolean; keys(): Iterable<string> }
  dialects: { has(name: string): boolean; keys(): Iterable<string> }
  /** The names of the offered models. */
  names: readonly string[]
  findings: Finding[]
}

interface Entry {
  name: string
  data: ModelData
  file: CatalogueFile
  match: string[]
  position: SourcePosition
}

/** The entries, in the order of the files. Adds a finding for each unknown name and each pattern that conflicts with another. */
export function compileCatalogue(files: readonly CatalogueFile[], known: Known): CatalogueEntry[] {
  const all = files.flatMap(file =>
    Object.entries(file.data.models).map(
      ([name, data]): Entry => ({
        name,
        data: data ?? {},
        file,
        match: [...new Set([name, ...(data?.match ?? [])])],
        position: file.entryAt(name),
      }),
    ),
  )
  checkNames(files, all, known)
  const names = [...all.flatMap(({ match }) => match.filter(name => !name.includes('*'))), ...known.names]
  checkShadows(all, names, known.findings)
  const replaced = new Set(
    all
      .filter(({ data }) => data.replaces)
      .flatMap(one => all.filter(other => other.name === one.name && other.file.layer < one.file.layer && meet(one, other))),
  )
  return all
    .filter(entry => !replaced.has(entry))
    .map(({ name, data, file, match, position }) => ({
      at: `${position.file}:${position.line}`,
      name,
      match,
      ...(file.data.providers && { providers: file.data.providers }),
      layer: file.layer,
      facts: likeOf({ name, data, file, match, position }, all, []),
    }))
}

/** An entry's own facts, in the plan's form. */
function own({ data, file }: Entry): ModelFacts {
  const { display_name, max_output, prefer, traits, match: _, like: __, replaces: ___, prices, ...rest } = data
  return {
    source: file.data.source,
    read: file.data.read,
    ...rest,
    ...(display_name !== undefined && { displayName: display_name }),
    ...(max_output !== undefined && { maxOutput: max_output }),
    ...(traits && { traits: { ...traits } }),
    ...(prefer && { prefer: prefer.map(({ when = [], speaks }) => ({ when: [when].flat(), speaks })) }),
    ...(prices && { prices: prices.map(price => ({ currency: file.data.currency, ...price })) }),
  }
}

/** The facts of the entry that it is `like`, without names and dates, which are an entry's own. */
function likeOf(entry: Entry, all: readonly Entry[], way: readonly Entry[]): ModelFacts {
  const { like } = entry.data
  if (like === undefined || way.includes(entry)) return own(entry)
  const facts: ModelFacts = {}
  for (const other of modelsLike(entry, all)) {
    const { displayName: _, created: __, deprecated: ___, retired: ____, ...said } = likeOf(other, all, [...way, entry])
    Object.assign(facts, said, { traits: { ...facts.traits, ...said.traits } })
  }
  const said = own(entry)
  const traits = { ...facts.traits, ...said.traits }
  return { ...facts, ...said, traits }
}

/** The entries of a name: those of the same providers, or else of all files; lower layers first. */
function modelsLike(entry: Entry, all: readonly Entry[]): Entry[] {
  const named = all.filter(other => other !== entry && other.name === entry.data.like)
  const near = named.filter(other => meet(entry, other))
  return (near.length > 0 ? near : named).sort((left, right) => left.file.layer - right.file.layer)
}

/** Whether two entries may be about a model of one provider. */
function meet(left: Entry, right: Entry): boolean {
  const [one, other] = [left.file.data.providers, right.file.data.providers]
  return one === undefined || other === undefined || one.some(name => other.includes(name))
}

function checkNames(files: readonly CatalogueFile[], all: readonly Entry[], { providers, dialects, findings }: Known): void {
  const exact = new Set(all.flatMap(({ match }) => match.filter(name => !name.includes('*'))))
  for (const { data, document } of files) {
    data.confirmed?.forEach(({ models }, number) => {
      models.forEach((name, index) => {
        if (!exact.has(name))
          findings.push({
            ...document.at(['confirmed', number, 'models', index]),
            rule: 'names/model',
            detail: `no entry is named ${name}`,
            remedy: 'name an entry of models/, exactly as it is written there',
          })
      })
    })
    data.providers?.forEach((name, index) => {
      if (!providers.has(name))
        findings.push({
          ...document.at(['providers', index]),
          rule: 'names/provider',
          detail: `there is no provider ${name}`,
          remedy: useOneOf(providers.keys(), name),
        })
    })
  }
  for (const entry of all) {
    const { name, data, file } = entry
    const { document } = file
    if (data.like !== undefined && modelsLike(entry, all).length === 0)
      findings.push({
        ...document.at(['models', name, 'like']),
        rule: 'names/model',
        detail: `no entry is named ${data.like}`,
        remedy: 'name an existing entry of models/',
      })
    else if (leadsBack(entry, all))
      findings.push({
        ...document.at(['models', name, 'like']),
        rule: 'models/like',
        detail: `the \`like\` of ${name} leads back to itself`,
        remedy: 'state the facts at one of them',
      })
    data.prefer?.forEach(({ speaks }, index) => {
      if (!dialects.has(speaks))
        findings.push({
          ...document.at(['models', name, 'prefer', index, 'speaks']),
          rule: 'names/dialect',
          detail: `there is no dialect ${speaks}`,
          remedy: useOneOf(dialects.keys(), speaks),
        })
    })
    const days = (['created', 'deprecated', 'retired'] as const).flatMap(key => (data[key] === undefined ? [] : [{ key, day: data[key] }]))
    let before: (typeof days)[number] | undefined
    for (const date of days) {
      if (before && date.day < before.day)
        findings.push({
          ...document.at(['models', name, date.key]),
          rule: 'models/dates',
          detail: `${date.key} is before ${before.key}`,
          remedy: 'check the source again',
        })
      before = date
    }
  }
}

function leadsBack(entry: Entry, all: readonly Entry[]): boolean {
  const seen = new Set<Entry>()
  const walk = (one: Entry): boolean =>
    modelsLike(one, all).some(next => next === entry || (!seen.has(next) && seen.add(next) && next.data.like !== undefined && walk(next)))
  return entry.data.like !== undefined && walk(entry)
}

/**
 * Two entries of one layer for the same name with equal precedence: they have the same pattern, or patterns with equally
 * many letters that match a known name, and state different facts.
 */
function checkShadows(all: readonly Entry[], names: readonly string[], findings: Finding[]): void {
  const rivals = new Map<string, { entry: Entry; pattern: string }[]>()
  for (const entry of all) {
    for (const pattern of entry.match) {
      const weight = weightOf(pattern)
      const key = `${entry.file.layer} ${weight === Number.POSITIVE_INFINITY ? pattern : weight}`
      rivals.set(key, [...(rivals.get(key) ?? []), { entry, pattern }])
    }
  }
  for (const group of rivals.values()) {
    group.forEach((one, index) => {
      for (const other of group.slice(0, index)) {
        if (one.entry === other.entry || !meet(one.entry, other.entry)) continue
        const isSame = one.pattern === other.pattern
        const name = isSame ? one.pattern : names.find(known => fits(one.pattern, known) && fits(other.pattern, known))
        if (name === undefined || (!isSame && !disagree(one.entry.data, other.entry.data))) continue
        const where = `${other.entry.position.file}:${other.entry.position.line}`
        findings.push({
          ...positionOf(one.entry, one.pattern),
          rule: 'models/shadow',
          detail: isSame
            ? `${other.entry.name} has the pattern ${one.pattern}, too (${where})`
            : `${one.pattern} and ${other.pattern} (${where}) both match ${name}, and neither is more specific`,
          remedy: isSame ? 'keep it at one of them' : 'write one of them with more letters',
        })
      }
    })
  }
}

function positionOf(entry: Entry, pattern: string): SourcePosition {
  const index = entry.data.match?.indexOf(pattern) ?? -1
  return index < 0 || entry.name === pattern ? entry.position : entry.file.document.at(['models', entry.name, 'match', index])
}

/** Whether two entries state different values of one fact. */
function disagree(left: ModelData, right: ModelData): boolean {
  const differ = (one: Record<string, unknown>, other: Record<string, unknown>): boolean =>
    Object.keys(one).some(
      key => key !== 'match' && key !== 'replaces' && key !== 'traits' && Object.hasOwn(other, key) && !isSame(one[key], other[key]),
    )
  return differ({ ...left }, { ...right }) || differ({ ...left.traits }, { ...right.traits })
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}
