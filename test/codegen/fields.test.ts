// FIELDS.md shows the fate of every field of every pair: where it goes, how it is changed, or that it is lost, and when.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { flowsOf } from '../../codegen/check/flows.js'
import type { FieldNode } from '../../codegen/check/ledger.js'
import type { Source } from '../../codegen/read/functions.js'
import type { MappingData } from '../../codegen/read/project.js'

const page = readFileSync(join(import.meta.dirname, '../../docs/reference/FIELDS.md'), 'utf8')
const rows = page
  .split('\n')
  .filter(line => line.startsWith('| `'))
  .map(line => line.split(/(?<!\\) \| /).map(cell => cell.replace(/^\| | \|$/g, '').trim()))

test('FIELDS.md lists every mapped field with the member that it becomes', () => {
  expect(rows.length).toBeGreaterThan(1_500)
  const fates = ['carried', 'changed', 'with what holds it', 'read', 'dropped', 'refused', 'conditional: dropped', 'conditional: refused']
  expect(rows.filter(([, becomes]) => !fates.includes(becomes as string))).toEqual([])
  // Where it goes, and how; when, and why.
  expect(rows.filter(([, becomes, where]) => becomes === 'carried' && !where)).toEqual([])
  expect(rows.filter(([, becomes, , , how]) => becomes === 'changed' && !how)).toEqual([])
  expect(rows.filter(([, becomes, , when, why]) => becomes?.startsWith('conditional') && !(when && why))).toEqual([])
})

const pair = (name: string, field: string): string[][] => {
  const part = page.slice(page.indexOf(`\n## ${name}\n`))
  const lines = part.slice(0, part.indexOf('\n## ', 5)).split('\n')
  return lines.filter(line => line.startsWith(`| \`${field}\` `)).map(line => line.split(' | ').map(cell => cell.replace(/^\| | \|$/g, '')))
}

test.each([
  ['messages-to-chat', 'top_p', 'carried', '`top_p`'],
  ['messages-to-chat', 'max_tokens', 'changed', '`max_completion_tokens`'],
  ['messages-to-chat', 'tools[].input_schema', 'carried', '`tools.function.parameters`'],
  ['messages-to-chat', 'tool_choice.disable_parallel_tool_use', 'changed', '`parallel_tool_calls`'],
  ['chat-to-messages', 'messages[].tool_calls[].function.arguments', 'changed', '`messages.content.input`'],
  ['chat-to-generate', 'stop[]', 'carried', '`generationConfig.stopSequences`'],
])('%s: %s is %s', (name, field, becomes, where) => {
  expect(pair(name, field).some(([, fate, members]) => fate === becomes && members?.includes(where))).toBe(true)
})

const source = (text: string): Source => ({ text }) as Source
const fields: FieldNode[] = [
  { name: 'a', path: 'a', members: [] },
  { name: 'b', path: 'b', members: [] },
  { name: 'list', path: 'list[]', members: [{ name: 'a', path: 'list[].a', members: [] }] },
]
const flows = (request: string, library: Record<string, string> = {}): Record<string, string[]> =>
  Object.fromEntries(
    [...flowsOf({ request } as MappingData, new Map(Object.entries(library).map(([name, text]) => [name, source(text)])), fields)].map(
      ([path, found]) => [path, found.map(({ kind, to, by }) => [kind, to, ...by].join(' ')).sort()],
    ),
  )

test.each<[string, Record<string, string>, Record<string, string[]>]>([
  ['{ "x": a }', {}, { a: ['same x'] }],
  ['{ "x": $max([a, 1]) }', {}, { a: ['made x $max'] }],
  ['{ "x": b = 1 ? a }', {}, { a: ['same x'], b: ['decides x'] }],
  ['{ "x": [$map(list, function($one) { { "y": $one.a } })] }', {}, { 'list[].a': ['same x.y'] }],
  ['{ "x": list[a = 1].a }', {}, { 'list[].a': ['same x'] }],
  ['($held := { "y": a }; { "x": $held.y, "z": $held })', {}, { a: ['same x', 'same z.y'] }],
  ['{ "x": $twice(a) }', { twice: 'function($n) { $n & $n }' }, { a: ['made x text'] }],
  [
    '{ "x": $down(list) }',
    { down: 'function($n) { $n ? $down($n.a) }' },
    { 'list[]': ['decides x'], 'list[].a': ['made x $down a part of it'] },
  ],
  ['{ "x": $reduce(list, function($sum, $one) { $append($sum, $one.a) }, []) }', {}, { 'list[].a': ['same x'] }],
])('finds the flows of %s', (request, library, expected) => {
  expect(flows(request, library)).toMatchObject(expected)
})
