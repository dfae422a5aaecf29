// A person's or a model's text that no path of `texts` reaches passes every pattern. So each member of a schema that is free text
// is named by `texts`, or is here among what is no text, with the reason.

import { describe, expect, test } from 'vitest'
import { schemaId, snakeOf } from '../../codegen/read/schemas.js'
import type { TextPath } from '../../engine/plan.js'
import { plan, project } from '../properties/plan.js'
import { type Applied, pathsOf } from './schema-paths.js'

/** Names of members that are no text in any dialect, in snake case. Each pattern matches the last words of a name. */
const NO_TEXT: Readonly<Record<string, RegExp>> = {
  'names, ids and keys':
    /(^|_)(ids?|names?|filename|key|user|identifier|fingerprint|version|object|callers|namespace|container|conversation)$|^cached_content$/,
  addresses: /(^|_)(ur[il]s?|domains|source|city|country|region|timezone)$/,
  'words with a meaning of their own':
    /(^|_)(type|role|model|status|mode|tier|effort|size|quality|resolution|verbosity|format|detail|modality|category|probability|language|voice|speaker|geo|speed|ratio|truncation|retention|granularities|display|confidence|strategy|syntax|personality|license|reason|include|outcome|background|think|fallbacks|fields|complexity|languages)$/,
  'numbers and times': /(^|_)(at|offset|duration|seconds|ttl|elapsed|temperature|keep_alive|stream)$/,
  'media and vectors': /(^|_)(data|images?|svg|tail|mask|b64|b64_json|base64|references|embedding)$/,
  'what only a provider can read, and padding': /(^|_)signature$|^encrypted_|^obfuscation$/,
  'what a provider says about a failure': /(^|_)(message|msg|param)$/,
  'where an answer ends: a mask would end it elsewhere': /^stop$|(^|_)sequences?$/,
}

/** Paths that are no text, after the name of the dialect. */
const LEFT: Readonly<Record<string, RegExp>> = {
  'what the provider of a stream says about its failure': /^cohere_chat delta\.error$/,
  'the code of a failure': /[ .]error\.code$/,
  'what a provider takes only as it signed it': /^chat .*thinking_blocks\[\]\.thinking$|^messages(_count)? .*\]\.thinking$/,
  'a grammar, which a mask would break': /\.definition$/,
  "JSON Schemas of the application, whose words its answers' members have":
    /[sS]chema\b|\.function_?[dD]eclarations\[\]\.(parameters|response)\b/,
  'what an answer repeats of its request': /^response\w* (response\.)?(instructions$|tools\[\]|text\.format\.|reasoning\.)/,
  'an instruction is text parts only': /^generate\w* .*system_?[iI]nstruction\.parts\[\]\.(?!text$)/,
  "answers' names are in camel case": /^generate candidates\[\]\.content\.parts\[\]\.[a-z]+_/,
  'a message before it has content': /^messages message\./,
}

const BOUND = ['enum', 'const', 'pattern', 'enum_numbers', 'contentEncoding']
const isFreeText = ({ schema }: Applied): boolean => [schema.type].flat().includes('string') && !BOUND.some(keyword => keyword in schema)

const isNoText = (dialect: string, path: string): boolean => {
  const name = snakeOf(
    path
      .replaceAll(/\[\]|\.\*/g, '')
      .split('.')
      .at(-1) as string,
  )
  return Object.values(NO_TEXT).some(names => names.test(name)) || Object.values(LEFT).some(paths => paths.test(`${dialect} ${path}`))
}

/** Whether a path of `texts` leads to a path, or to something around it where it ends with `**`. */
function isNamed(path: string, text: TextPath): boolean {
  const names = text.filter(name => typeof name === 'string')
  const own = path.replaceAll('[]', '.[]').split('.')
  const reach = names.at(-1) === '**' ? names.slice(0, -1) : names
  return reach.every((name, index) => name === own[index]) && (reach.length < names.length || reach.length === own.length)
}

/** Everything at some paths. */
const all = (paths: readonly TextPath[]): TextPath[] => paths.map(names => [...names, '**'])

describe.each(Object.values(plan.dialects).flatMap(({ name, texts }) => (texts ? [{ name, texts }] : [])))('$name', ({ name, texts }) => {
  test.each([
    ['request', texts.request],
    ['response', [...texts.response, ...all(texts.repeats)]],
    ['event', [...texts.event, ...texts.pieces, ...all(texts.repeats)]],
  ] as const)('every text of a %s is looked at', (part, named) => {
    const id = schemaId(name, part)
    if (!project.schemas.has(id)) return
    const missing = pathsOf(id, isFreeText).filter(path => !isNoText(name, path) && !named.some(names => isNamed(path, names)))
    expect(missing).toEqual([])
  })
})
