// Errors in expressions are found at the wrong character, however the text is written, and all findings come at once, in the
// order of files and positions.

import { describe, expect, test } from 'vitest'
import { type Fixture, fixture, withDialects } from './fixture.js'

const MAPPING = 'mappings/tiny-to-typed/mapping.yaml'
const REQUEST = 'request: \'{ "model": $ctx.model, "text": text }\'\n'

interface Wrong {
  name: string
  text: string
  rule: string
  detail: RegExp
  remedy: string
}

/** The mark is where the finding must be. */
const WRONG: Wrong[] = [
  {
    name: 'an assignment to a name in a block',
    text: 'title: Small\nrequest: |\n  {\n    "model": $ctx.model,\n    "text": ◆text := 1\n  }\n',
    rule: 'jsonata/S0212',
    detail: /left side/,
    remedy: 'correct the expression at this position',
  },
  {
    name: 'an unexpected word in a block, behind an empty line',
    text: 'title: Small\nrequest: |\n\n  { "model": text ◆text }\n',
    rule: 'jsonata/S0202',
    detail: /text/,
    remedy: 'correct the expression at this position',
  },
  {
    name: 'an unexpected word in single quotes',
    text: 'title: Small\nrequest: \'{ "model": text ◆text }\'\n',
    rule: 'jsonata/S0202',
    detail: /text/,
    remedy: 'correct the expression at this position',
  },
  {
    name: 'an unexpected word without quotes',
    text: 'title: Small\nrequest: text ◆text\n',
    rule: 'jsonata/S0201',
    detail: /text/,
    remedy: 'correct the expression at this position',
  },
  {
    name: 'an unexpected word in double quotes, behind escapes',
    text: 'title: Small\nrequest: "{ \\"model\\": text ◆text }"\n',
    rule: 'jsonata/S0202',
    detail: /text/,
    remedy: 'correct the expression at this position',
  },
  {
    name: 'an unexpected word in a file with CR LF',
    text: 'title: Small\r\nrequest: |\r\n  {\r\n    "model": text ◆text }\r\n',
    rule: 'jsonata/S0202',
    detail: /text/,
    remedy: 'correct the expression at this position',
  },
  {
    name: 'an end that is too early',
    text: 'title: Small\nrequest: |\n  { "model": $ctx.model◆\n',
    rule: 'jsonata/S0203',
    detail: /end/,
    remedy: 'correct the expression at this position',
  },
  {
    name: 'a string that is never closed',
    text: `title: Small\nrequest: |\n  { "model": $ctx.model & "x }◆\n`,
    rule: 'jsonata/S0101',
    detail: /./,
    remedy: 'correct the expression at this position',
  },
  {
    name: 'a variable that this expression does not have',
    text: 'title: Small\nrequest: |\n  {\n    "model": $ctx.model,\n    "text": text & ◆$state.text\n  }\n',
    rule: 'jsonata/undeclared',
    detail: /\$state/,
    remedy: 'declare it, or see docs/data-language.md for the variables that this expression has',
  },
  {
    name: 'an unknown variable in a function',
    text: `title: Small\ndefine:\n  twice: 'function($x) { $x & ◆$y }'\n${REQUEST.replace('text }', '$twice(text) }')}`,
    rule: 'jsonata/undeclared',
    detail: /\$y/,
    remedy: 'declare it, or see docs/data-language.md for the variables that this expression has',
  },
  {
    name: 'a variable of the mapping in a function',
    text: `title: Small\ndefine:\n  twice: 'function($x) { $x & ◆$ctx.model }'\n${REQUEST.replace('text }', '$twice(text) }')}`,
    rule: 'jsonata/undeclared',
    detail: /\$ctx/,
    remedy: 'declare it, or see docs/data-language.md for the variables that this expression has',
  },
  {
    name: 'a call of $now',
    text: 'title: Small\nrequest: |\n  { "model": $ctx.model, "text": text & ◆$now() }\n',
    rule: 'jsonata/chance',
    detail: /now/,
    remedy: 'use $ctx.id and $ctx.created',
  },
  {
    name: 'a call of $random',
    text: 'title: Small\nrequest: |\n  { "model": $ctx.model, "text": text & ◆$random() }\n',
    rule: 'jsonata/chance',
    detail: /random/,
    remedy: 'use $ctx.id and $ctx.created',
  },
  {
    name: '$random as a value',
    text: 'title: Small\nrequest: |\n  { "model": $ctx.model, "text": text & $map([1], ◆$random) }\n',
    rule: 'jsonata/chance',
    detail: /random/,
    remedy: 'use $ctx.id and $ctx.created',
  },
  {
    name: 'a call of $eval',
    text: 'title: Small\nrequest: |\n  { "model": $ctx.model, "text": ◆$eval(text) }\n',
    rule: 'jsonata/eval',
    detail: /eval/,
    remedy: 'write the expression itself',
  },
  {
    name: '$eval as a value',
    text: 'title: Small\nrequest: |\n  { "model": $ctx.model, "text": $map([text], ◆$eval) }\n',
    rule: 'jsonata/eval',
    detail: /eval/,
    remedy: 'write the expression itself',
  },
  {
    name: 'a call without $',
    text: 'title: Small\nrequest: |\n  { "model": $ctx.model, "text": ◆uppercase(text) }\n',
    rule: 'jsonata/call',
    detail: /uppercase/,
    remedy: 'put a $ before the name',
  },
  {
    name: 'a call of a function that a variable hides',
    text: 'title: Small\nrequest: |\n  ( $type := text; { "model": $ctx.model, "text": ◆$type(text) } )\n',
    rule: 'jsonata/hidden',
    detail: /\$type/,
    remedy: 'give the variable another name, or do without the function where the expression is given the variable',
  },
  {
    name: 'an unknown variable in the condition of a step inside a loop',
    text: `title: Small\n${REQUEST}stream:\n  steps:\n    - for: list\n      steps:\n        - name: one\n          when: $item.a and ◆$itm.b\n          emit: '{}'\n`,
    rule: 'jsonata/undeclared',
    detail: /\$itm/,
    remedy: 'declare it, or see docs/data-language.md for the variables that this expression has',
  },
  {
    name: 'a variable of a loop behind the loop',
    text: `title: Small\n${REQUEST}stream:\n  steps:\n    - for: list\n      let: { part: $item.a }\n      steps:\n        - { name: one, emit: '{ "a": $part }' }\n    - name: two\n      emit: '{ "a": ◆$part }'\n`,
    rule: 'jsonata/undeclared',
    detail: /\$part/,
    remedy: 'declare it, or see docs/data-language.md for the variables that this expression has',
  },
  {
    name: 'an end that is too early in the condition of a field',
    text: `title: Small\n${REQUEST}fields:\n  refused:\n    text: { when: 'text = "a" and◆', why: no }\n`,
    rule: 'jsonata/S0207',
    detail: /./,
    remedy: 'correct the expression at this position',
  },
]

describe('a finding is at the position of', () => {
  for (const { name, text, rule, detail, remedy } of WRONG) {
    test(name, () => {
      const data = withDialects(fixture('small'))
      data.write(MAPPING, text)
      expect(data.findings()).toEqual([{ position: data.marks[0], rule, detail: expect.stringMatching(detail), remedy }])
    })
  }

  const FORMATS: [name: string, change: (data: Fixture) => void, rule: string][] = [
    [
      'a mistake in a format',
      data => data.edit('schemas/tiny/format.yaml', '  watch: {}', "  watch:\n    content: 'a = ◆='"),
      'jsonata/S0211',
    ],
    [
      'a call of a function that a variable of the expression hides',
      data =>
        data.edit(
          'schemas/tiny/format.yaml',
          'error: chat',
          `error: { like: chat, body: '{ "text": ◆$type($message) = "string" ? $message, "type": $type }' }`,
        ),
      'jsonata/hidden',
    ],
    [
      'a mistake in a route',
      data => data.write('routes/new.yaml', 'name: x\nmethod: GET\npath: /x\nauth: []\ndialect: chat\nanswer: \'{ "a": ◆$ctx }\'\n'),
      'jsonata/undeclared',
    ],
    [
      'a mistake in a library function that is used',
      data => {
        data.write('mappings/library.yaml', "functions:\n  broken: 'function($x) { ◆$y }'\n")
        data.write(MAPPING, `title: Small\n${REQUEST.replace('text }', '$broken(text) }')}`)
      },
      'jsonata/undeclared',
    ],
    [
      'a mistake in a library function that is not used',
      data => data.write('mappings/library.yaml', "functions:\n  broken: 'function($x) { ◆$y }'\n"),
      'jsonata/undeclared',
    ],
    [
      'a mistake in a function of a mapping that is not used',
      data => data.write(MAPPING, `title: Small\ndefine:\n  broken: 'function($x) { ◆$y }'\n${REQUEST}`),
      'jsonata/undeclared',
    ],
    [
      'a mistake in a variable of a stream that is not used',
      data => data.write(MAPPING, `title: Small\n${REQUEST}stream:\n  let: { a: ◆$nothing }\n  steps: [{ name: one, emit: '{}' }]\n`),
      'jsonata/undeclared',
    ],
  ]
  for (const [name, change, rule] of FORMATS) {
    test(name, () => {
      const data = withDialects(fixture('small'))
      change(data)
      expect(data.findings().map(finding => [finding.position, finding.rule])).toEqual([[data.marks[0], rule]])
    })
  }
})

test.each([
  ['a chain', (levels: number) => Array(levels).fill('text').join(' & ')],
  ['parentheses', (levels: number) => `${'('.repeat(levels)}text${')'.repeat(levels)}`],
  ['functions', (levels: number) => `${'$string('.repeat(levels)}text${')'.repeat(levels)}`],
  ['objects', (levels: number) => `$string(${'{"a": '.repeat(levels)}text${'}'.repeat(levels)})`],
])('%s of five thousand levels is a finding, one of four hundred is compiled', (_, made) => {
  const data = withDialects(fixture('small'))
  const write = (levels: number): void =>
    data.write(MAPPING, `title: Small\nrequest: |\n  { "model": $ctx.model, "text": ${made(levels)} }\n`)
  write(5000)
  expect(data.findings()).toMatchObject([{ position: expect.stringMatching(`^${MAPPING}:3:`), rule: 'jsonata/depth' }])
  write(400)
  expect(data.findings()).toEqual([])
})

test('all findings are reported at once, in the order of files and positions', () => {
  const data = withDialects(fixture('small'))
  // Written in another order than they must come.
  data.write('routes/wrong.yaml', 'name: wrong\nmethod: GET\npath: /wrong\nauth: [nowhere]\ndialect: chat\nanswer: "{}"\ncolour: red\n')
  data.write('routes/names.yaml', 'name: names\nmethod: GET\npath: /names\nauth: [nowhere]\ndialect: chattt\nanswer: "{}"\n')
  data.write(MAPPING, `title: Small\nrequest: |\n  { "model": $ctxx.model,\n    "text": text & $now() }\n`)
  data.write('schemas/tiny/response.yaml', "$ref: '#/$defs/none'\n")
  data.write('providers/new.yaml', 'title: New\nbase: https://new.example\nspeaks: { chat: no path }\n')
  expect(data.findings().map(({ position, rule }) => `${position}  ${rule}`)).toEqual([
    `${MAPPING}:3:14  jsonata/undeclared`,
    `${MAPPING}:4:20  jsonata/chance`,
    'providers/new.yaml:1:1  grammar/missing-key',
    'providers/new.yaml:3:17  grammar/value',
    'routes/names.yaml:4:8  names/credential',
    'routes/names.yaml:5:10  names/dialect',
    'routes/wrong.yaml:4:8  names/credential',
    'routes/wrong.yaml:7:1  grammar/unknown-key',
    'schemas/tiny/response.yaml:1:8  schema/reference',
  ])
})
