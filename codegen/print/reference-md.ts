// Prints docs/reference: a page for each kind of file, from its spec in schemas/config.

import { dump } from 'js-yaml'
import { elementAt } from '../jsonata/element.js'
import { hasMembers, type KeySpec, keysOf, type SpecSchema } from '../read/spec.js'

/** The pages in order: the grammar, and the files that it is for. */
const PAGES: readonly (readonly [string, string])[] = [
  ['gateway', 'gateway.yaml'],
  ['provider', 'providers/*.yaml'],
  ['models', 'models/*.yaml, models/<folder>/*.yaml'],
  ['catalogue', 'models/catalogue.yaml'],
  ['route', 'routes/*.yaml'],
  ['credentials', 'routes/_credentials.yaml'],
  ['format', 'schemas/<dialect>/format.yaml'],
  ['mapping', 'mappings/<client>-to-<upstream>/mapping.yaml'],
  ['case', 'mappings/<client>-to-<upstream>/cases/*.yaml'],
  ['exchange', 'cases/*.yaml'],
  ['scenario', 'scenarios/*.yaml'],
  ['simulator', 'simulator/*.yaml'],
  ['simulator_scenario', 'sluice simulate --scenarios <file>'],
  ['fault', 'simulator/faults/*.yaml'],
  ['library', 'mappings/library.yaml, mappings/library/*.yaml, schemas/*/client/*.yaml, schemas/*/provider/*.yaml'],
]

const MADE = 'Made from `schemas/config/` by `npm run codegen`; `npm test` checks that it is fresh.'

/** The text of each page of docs/reference that a spec describes, by file name. */
export function printReference(grammars: ReadonlyMap<string, unknown>): Map<string, string> {
  const pages = new Map<string, string>()
  const index = ['# Reference', '', MADE, '', '| page | content |', '|---|---|']
  for (const [name, files] of PAGES) {
    const grammar = grammars.get(name) as SpecSchema
    pages.set(`${name}.md`, printPage(grammar, files))
    index.push(`| [${name}](${name}.md) | ${files.split(', ').map(code).join(', ')}: ${cell(firstSentence(String(grammar.description)))} |`)
  }
  index.push('| [ROUTES](ROUTES.md) | every route, and how each provider serves it |')
  index.push('| [FIELDS](FIELDS.md) | for each pair of dialects, the fate of each field of a request |')
  index.push('| [cli](cli.md) | every command, with its options, and the exit codes |')
  index.push('| [rules](../rules/README.md) | every rule that a finding can name |')
  pages.set('README.md', `${index.join('\n')}\n`)
  return pages
}

function printPage(grammar: SpecSchema, files: string): string {
  const lines = [`# ${files.split(', ').map(code).join(', ')}`, '', MADE, '', String(grammar.description), '']
  const examples = (grammar.examples ?? []) as unknown[]
  if (examples.length > 0) lines.push(examples.length > 1 ? '## Examples' : '## Example', '')
  for (const example of examples) lines.push('```yaml', dump(example, WHOLE).trimEnd(), '```', '')
  for (const [path, keys] of sections(keysOf(grammar))) {
    lines.push(`## ${path.length === 0 ? 'Keys' : code(display(path))}`, '', '| key | default | meaning |', '|---|---|---|')
    for (const key of keys) lines.push(row(grammar, key))
    lines.push('')
  }
  return `${lines.join('\n').trimEnd()}\n`
}

/** Groups keys by the object that they are in. */
function sections(keys: readonly KeySpec[]): [readonly string[], KeySpec[]][] {
  const found = new Map<string, [readonly string[], KeySpec[]]>()
  for (const key of keys) {
    const path = key.path.slice(0, -1)
    const id = JSON.stringify(path)
    const section = found.get(id) ?? [path, []]
    section[1].push(key)
    found.set(id, section)
  }
  return [...found.values()]
}

function row(grammar: SpecSchema, { path, schema, isRequired, same }: KeySpec): string {
  const sentences: string[] = [String(schema.description)]
  const isObject = hasMembers(grammar, schema)
  if (same) sentences.push(`Keys as in [${code(display(same))}](${anchor(same)}).`)
  if (schema.title !== undefined && !isObject) sentences.push(String(schema.title))
  const examples = (schema.examples ?? []) as unknown[]
  if (examples.length > 0 && !(schema.enum || schema.type === 'boolean'))
    sentences.push(`For example ${examples.map(example => code(dump(example, INLINE).trim())).join(', ')}.`)
  if (schema.secret === true) sentences.push('Secret: never printed.')
  const name = `${code(elementAt(path, -1))}${isRequired ? ' (required)' : ''}`
  const isFilled = 'default' in schema && !(isObject && isEmpty(schema.default))
  return `| ${name} | ${isFilled ? code(dump(schema.default, INLINE).trim()) : ''} | ${sentences.map(cell).join('<br>')} |`
}

const WHOLE = { flowLevel: 3, lineWidth: 120, flowBracketPadding: true }
const INLINE = { flowLevel: 0, lineWidth: -1, flowBracketPadding: true }

function display(path: readonly string[]): string {
  return path.join('.').replaceAll('.[]', '[]')
}

/** The fragment of the heading of a path. */
function anchor(path: readonly string[]): string {
  return `#${display(path)
    .toLowerCase()
    .replaceAll(/[^a-z0-9_ -]/g, '')}`
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** Text as code, also if it contains backticks or is in a table. */
function code(text: string): string {
  const quote = text.includes('`') ? '``' : '`'
  return `${quote}${text.replaceAll('|', '\\|')}${quote}`
}

function cell(text: string): string {
  return text.replaceAll(/(?<!\\)\|/g, '\\|').replaceAll('\n', ' ')
}

function firstSentence(text: string): string {
  return /^.*?[.](?=\s|$)/s.exec(text)?.[0] ?? text
}
