// The positions of values in a file, however they are written.

import { describe, expect, test } from 'vitest'
import type { Finding } from '../../codegen/read/findings.js'
import { type Pointer, parseYaml, type YamlDocument } from '../../codegen/read/yaml.js'
import { MARK } from './fixture.js'

/** The documents of a text, and the positions of its marks, as `line:col`. */
function read(text: string): { documents: YamlDocument[]; marks: string[] } {
  const marks: string[] = []
  let rest = text
  for (let at = rest.indexOf(MARK); at >= 0; at = rest.indexOf(MARK)) {
    const before = rest.slice(0, at)
    marks.push(`${before.split('\n').length}:${at - before.lastIndexOf('\n')}`)
    rest = before + rest.slice(at + MARK.length)
  }
  const findings: Finding[] = []
  const documents = parseYaml('a.yaml', rest, findings)
  expect(findings).toEqual([])
  return { documents, marks }
}

const positionOf = ({ line, column }: { line: number; column: number }): string => `${line}:${column}`

/** A mark is at the beginning of the value at the pointer; in a quoted text, at its first character. */
const VALUES: [name: string, text: string, pointer: Pointer][] = [
  ['a document', '# A comment.\n\n◆a: 1\n', []],
  ['a plain text', 'a: ◆one two\n', ['a']],
  ['a text in single quotes', "a: '◆one'\n", ['a']],
  ['a text in double quotes', 'a: "◆one"\n', ['a']],
  ['a number', 'a: ◆12\n', ['a']],
  ['an empty value, at its key', 'b: 1\n◆a:\n', ['a']],
  ['a member of a member', 'a:\n  b:\n    c: ◆x\n', ['a', 'b', 'c']],
  ['a mapping, at its first key', 'a:\n  ◆b: 1\n', ['a']],
  ['an element of a list', 'a:\n  - x\n  - ◆y\n', ['a', 1]],
  ['a member of an element', 'a:\n  - b: 1\n    c: ◆2\n', ['a', 0, 'c']],
  ['a list in brackets', 'a: ◆[x, y]\n', ['a']],
  ['an element of a list in brackets', 'a: [x, ◆y]\n', ['a', 1]],
  ['a member of a mapping in braces', 'a: { b: 1, c: { d: ◆2 } }\n', ['a', 'c', 'd']],
  ['a mapping in braces inside a list', 'a: [{ b: 1 }, { b: ◆2 }]\n', ['a', 1, 'b']],
  ['a key in quotes', "'a b': ◆1\n", ['a b']],
  ['a key with a slash and a tilde', 'a/b~c: ◆1\n', ['a/b~c']],
  ['a key that is a number', '1: ◆x\n', ['1']],
  ['a key that YAML takes for true', 'on: ◆x\n', ['on']],
  ['a line that ends in CR LF', 'a: 1\r\nb:\r\n  c: ◆x\r\n', ['b', 'c']],
  ['a value behind a character outside the basic plane, which counts as two', 'a: [🙂, ◆y]\n', ['a', 1]],
  ['a missing value, at the nearest value around it', 'a:\n  ◆b: 1\n', ['a', 'x', 'y']],
  ['an alias', 'a: &one [x]\nb: ◆*one\n', ['b']],
  ['a value behind a byte order mark, which has no column', '\uFEFFa: ◆1\n', ['a']],
]

describe('a value is found where it begins', () => {
  for (const [name, text, pointer] of VALUES) {
    test(name, () => {
      const { documents, marks } = read(text)
      expect(positionOf((documents[0] as YamlDocument).at(pointer))).toBe(
        text.startsWith('\uFEFF') ? marks[0]?.replace(/\d+$/, '4') : marks[0],
      )
    })
  }
})

const KEYS: [name: string, text: string, pointer: Pointer][] = [
  ['a plain key', 'b: 1\n◆a: 2\n', ['a']],
  ['a key in braces', 'a: { b: 1, ◆c: 2 }\n', ['a', 'c']],
  ['a key of an element', 'a:\n  - ◆b: 1\n', ['a', 0, 'b']],
  ['the key of a block', '◆a: |\n  x\n', ['a']],
  ['a key in quotes, inside them', '"◆a": 1\n', ['a']],
]

describe('the position of a key', () => {
  for (const [name, text, pointer] of KEYS) {
    test(name, () => {
      const { documents, marks } = read(text)
      expect(positionOf((documents[0] as YamlDocument).key(pointer))).toBe(marks[0])
    })
  }
})

/** The mark is before the character `X` of the value at `/a`, whose position is requested. */
const INSIDE: [name: string, text: string][] = [
  ['a plain text', 'a: one ◆X two\n'],
  ['a text in single quotes', "a: 'one ◆X'\n"],
  ['a text in single quotes with quotes in it', "a: 'it''s ◆X'\n"],
  ['a text in double quotes', 'a: "one ◆X"\n'],
  ['a text in double quotes with escapes', 'a: "\\"one\\"\\t\\u00e9 ◆X"\n'],
  ['a block', 'a: |\n  one\n  two ◆X\n'],
  ['the first line of a block', 'a: |\n  ◆X\n'],
  ['a block whose lines are indented further', 'a: |\n  one\n    two ◆X\n'],
  ['a block without its last line end', 'a: |-\n  one ◆X\n'],
  ['a block with all its line ends', 'a: |+\n  one ◆X\n\n\n'],
  ['a block that begins with empty lines', 'a: |\n\n\n  one ◆X\n'],
  ['a block that begins with lines of blanks', 'a: |\n \n  \n  one ◆X\n'],
  ['a block with an indentation indicator', 'a: |2\n    one\n  two ◆X\n'],
  ['a block with empty lines inside', 'a: |\n  one\n\n  two ◆X\n'],
  ['a block deep inside', 'b:\n  - c\n  - d\na: |\n      one\n      two ◆X\n'],
  ['a block with a comment in its first line', 'a: | # why\n  one\n  two ◆X\n'],
  ['a block in a file with CR LF', 'b: 1\r\na: |\r\n  one\r\n  two ◆X\r\n'],
  ['a block that begins with an empty line, in a file with CR LF', 'a: |\r\n\r\n  one\r\n  two ◆X\r\n'],
  ['a folded block', 'a: >\n  one\n  two ◆X\n'],
  ['a folded block with a paragraph', 'a: >\n  one\n  two\n\n  three ◆X\n'],
  ['a plain text over several lines', 'a: one\n  two ◆X\n'],
  ['a text in double quotes over several lines', 'a: "one\n  two ◆X"\n'],
]

describe('the position of a character of a text', () => {
  for (const [name, text] of INSIDE) {
    test(name, () => {
      const { documents, marks } = read(text)
      const [document] = documents as [YamlDocument]
      const offset = (document.value as { a: string }).a.indexOf('X')
      expect(positionOf(document.inside(['a'], offset))).toBe(marks[0])
    })
  }
})

describe('files of several documents', () => {
  test('each document has its own positions', () => {
    const { documents, marks } = read('a: ◆1\n---\n# b\na: ◆2\n---\na:\n  - ◆3\n')
    expect(documents.map(document => document.value)).toEqual([{ a: 1 }, { a: 2 }, { a: [3] }])
    expect(documents.map((document, index) => positionOf(document.at(index === 2 ? ['a', 0] : ['a'])))).toEqual(marks)
  })

  test('documents with start and end markers have their own positions', () => {
    const { documents, marks } = read('---\na: ◆1\n...\n---\na: ◆2\n')
    expect(documents.map(document => positionOf(document.at(['a'])))).toEqual(marks)
  })

  test('an empty document between two others does not shift their positions', () => {
    const { documents, marks } = read('a: ◆1\n---\n---\na: ◆2\n')
    const full = documents.filter(document => document.value !== null && document.value !== undefined)
    expect(full.map(document => positionOf(document.at(['a'])))).toEqual(marks)
  })

  test('a document with CR LF does not shift the positions in the next', () => {
    const { documents, marks } = read('a: ◆1\r\n---\r\nb: |\r\n  x\r\na: ◆2\r\n')
    expect(documents.map(document => positionOf(document.at(['a'])))).toEqual(marks)
  })
})

describe('invalid YAML', () => {
  const WRONG: [name: string, text: string, line: number][] = [
    ['a bracket that is never closed', 'a: [1,\nb: 2\n', 2],
    ['a tab as indentation', 'a:\n\tb: 1\n', 2],
    ['a key that is repeated', 'a: 1\nb: 2\na: 3\n', 3],
    ['an alias of nothing', 'a: 1\nb: *none\n', 2],
    ['a quote that is never closed', 'a: "one\n', 2],
  ]
  for (const [name, text, line] of WRONG) {
    test(`${name} is one finding and no documents`, () => {
      const findings: Finding[] = []
      expect(parseYaml('a.yaml', text, findings)).toEqual([])
      expect(findings.map(({ file, line: at, rule }) => `${file}:${at} ${rule}`)).toEqual([`a.yaml:${line} yaml/syntax`])
    })
  }

  test.each([
    ['a list in a text', 'a: { when: $count([b]) > 4, why: c }\n', /put a text with `,`, `\[`, `\]`, `{` or `}` in quotes/],
    ['an object in a text', 'a: { when: $merge({}) }\n', /put a text with .* in quotes/],
    ['a colon in a text', 'request: b: c\n', /put a text with `: ` in quotes/],
  ])('%s is said to need quotes', (_, text, remedy) => {
    const findings: Finding[] = []
    parseYaml('a.yaml', text, findings)
    expect(findings.map(finding => finding.remedy)).toEqual([expect.stringMatching(remedy)])
  })

  test('an empty file has no documents and no findings', () => {
    const findings: Finding[] = []
    expect(parseYaml('a.yaml', '# only a comment\n', findings).filter(({ value }) => value !== undefined && value !== null)).toEqual([])
    expect(findings).toEqual([])
  })
})
