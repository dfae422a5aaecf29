// Prints FIELDS.md: the fate of each request field in each pair of dialects.

import { type Flow, flowsOf } from '../check/flows.js'
import { type Field, fieldsOf, parentOf } from '../check/ledger.js'
import { libraryOf } from '../read/functions.js'
import { type Project, sidesOf } from '../read/project.js'
import { schemaId } from '../read/schemas.js'

/** The flows of a pair's request fields. */
export function flowsOfPair(project: Project, name: string): ReadonlyMap<string, readonly Flow[]> {
  const mapping = project.mappings.get(name)
  if (mapping === undefined) return new Map()
  const { from } = sidesOf(name)
  return flowsOf(mapping.data, libraryOf(mapping, project), fieldsOf(project.schemas, schemaId(from, 'request')))
}

/** Members listed for a field. */
const MOST_SHOWN = 4
/** Functions above which only the target of a value is listed. */
const FEW = 4

const WORDS = `The fate of each field of a client's request when the provider speaks another dialect.

- **refused**: a request with the field gets status 400 \`unsupported_parameter\`, which names the field, and no provider is called.
- **dropped**: the provider does not see the field. If a request has it, the \`x-sluice-dropped\` header of the answer names it; a model with \`unsupported: refuse\` refuses the request instead.
- **conditional**: refused or dropped in the listed cases, of which the first that applies counts; the next row is its fate in all other cases. A case is an expression on the request, or on \`$ask\`, what the client's half reads of it in the terms of \`schemas/conversation.yaml\`; \`it is not the same in x\` and \`it leads to no x\` compare it with the provider's request: the field is reported if it was left out or, with the first, changed.
- **carried**: the provider's request has its value, unchanged, at the listed members.
- **changed**: the value of a member is computed from it, by the listed functions; or it decides, with other fields, whether a member is set and to which value.
- **with what holds it**: no expression reads it by itself; it goes with the object that contains it.
- **read**: the mapping reads it, but no member of the provider's request is computed from it: it only identifies something else, or occurs in the message of a refusal.

Codegen derives the last four by tracing each member that the mapping's \`request\` makes back to the fields in its value: every branch counts, and values are not distinguished. At most ${MOST_SHOWN} members are listed, unchanged copies first; lists have no brackets in their paths.

A name with two spellings, in camelCase and in snake_case, is listed and reported in camelCase.

A member that the schema of the client's dialect does not name is in no list: it is dropped and reported, or refused if it is an object of an unknown kind.`

/** The fate of a field that is not lost: its target, and how it gets there. */
interface Fate {
  becomes: 'carried' | 'changed' | 'with what holds it' | 'read'
  where: readonly string[]
  how: string
}

/** The fates of a field, from its flows and those of the fields that contain it. */
function fateOf(path: string, flows: ReadonlyMap<string, readonly Flow[]>): Fate[] {
  const found = flows.get(path) ?? []
  const of = (kind: Flow['kind']): Flow[] =>
    found.filter(flow => flow.kind === kind).sort((left, right) => left.by.length - right.by.length || (left.to < right.to ? -1 : 1))
  const named = (some: readonly Flow[]): string[] => some.slice(0, MOST_SHOWN).map(({ to }) => to)
  const same = of('same')
  // Where the trace ends, every argument counts as used: prefer the members that were traced exactly.
  const made = of('made').filter(({ by }) => same.length === 0 || (by.length < FEW && !by.includes('$map')))
  const changed = made.length > 0 ? [madeFate(made, named(made))] : []
  if (same.length > 0) return [{ becomes: 'carried', where: named(same), how: '' }, ...changed]
  if (changed.length > 0) return changed
  const decides = of('decides')
  if (decides.length > 0) return [{ becomes: 'changed', where: named(decides), how: 'it decides' }]
  for (let above = parentOf(path); above !== ''; above = parentOf(above))
    if (flows.has(above)) return [{ becomes: 'with what holds it', where: [above], how: '' }]
  // Only its members are read.
  if ([...flows.keys()].some(other => other.startsWith(`${path}.`))) return [{ becomes: 'changed', where: [], how: 'its members say it' }]
  return [{ becomes: 'read', where: [], how: '' }]
}

function madeFate(made: readonly Flow[], where: readonly string[]): Fate {
  const by = [...new Set(made.slice(0, MOST_SHOWN).flatMap(flow => flow.by))].sort()
  return { becomes: 'changed', where, how: `by ${by.map(one => (one.startsWith('$') ? `\`${one}\`` : one)).join(', ')}` }
}

/** The rows of a field in the reference, one for each possible fate. */
function rowsOf(
  { path, verdict, cases, why = '' }: Field,
  flows: ReadonlyMap<string, readonly Flow[]>,
): [string, string, string, string][] {
  const lost = (cases ?? []).map((one): [string, string, string, string] => [`conditional: ${one.becomes}`, '', one.when, one.why])
  if (verdict === 'dropped' || verdict === 'refused') return [[verdict, '', '', why]]
  if (cases?.some(one => one.when === 'else')) return lost
  const fates = fateOf(path, flows).map(({ becomes, where, how }): [string, string, string, string] => [
    becomes,
    where.map(one => `\`${one}\``).join(', '),
    cases ? 'else' : '',
    how,
  ])
  return [...lost, ...fates]
}

/** FIELDS.md: for each pair, the fate of each field of the client's request. */
export function printFields(
  pairs: ReadonlyMap<string, readonly Field[]>,
  flowsOfPair: (name: string) => ReadonlyMap<string, readonly Flow[]>,
): string {
  const lines = [
    '# Fields',
    '',
    'Made from `mappings/` and `schemas/` by `npm run codegen`; `npm test` checks that it is fresh.',
    '',
    WORDS,
  ]
  for (const [name, fields] of [...pairs].sort(([left], [right]) => left.localeCompare(right))) {
    const flows = flowsOfPair(name)
    const rows = fields.flatMap(field => rowsOf(field, flows).map(row => [`\`${field.path}\``, ...row]))
    const counts = ['carried', 'changed', 'with what holds it', 'read', 'dropped', 'refused'].flatMap(verdict => {
      const of = rows.filter(([, becomes, , when]) => becomes === verdict && when === '')
      const count = new Set(of.map(([path]) => path)).size
      return count === 0 ? [] : [`${count} ${verdict}`]
    })
    const conditional = fields.filter(({ verdict }) => verdict === 'conditional').length
    if (conditional > 0) counts.push(`${conditional} conditional`)
    lines.push('', `## ${name}`, '', `${fields.length} fields: ${counts.join(', ')}.`)
    if (rows.length > 0) lines.push('', '| field | becomes | where | when | how or why |', '|---|---|---|---|---|')
    for (const row of rows) lines.push(`| ${row.map(cell).join(' | ')} |`)
  }
  return `${lines.join('\n')}\n`

  function cell(text: string, index: number): string {
    const flat = text.replaceAll(/\s+/g, ' ').trim()
    const shown = index === 3 && flat !== '' && !/^(else|it is not|it leads)\b/.test(flat) ? `\`\` ${flat} \`\`` : flat
    return shown.replaceAll('|', '\\|')
  }
}
