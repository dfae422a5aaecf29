// What the engine must not know, and who may import whom.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

function files(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => join(folder, name))
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Code without its comments. */
function codeOf(path: string): string {
  return read(path)
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(^|\s)\/\/.*$/gm, '$1')
}

test('the engine names no dialect, provider, model or path', () => {
  const names = new Set<string>()
  for (const folder of readdirSync(join(root, 'schemas'))) if (existsSync(join(root, 'schemas', folder, 'format.yaml'))) names.add(folder)
  for (const file of readdirSync(join(root, 'providers'))) {
    const provider = load(readFileSync(join(root, 'providers', file), 'utf8')) as {
      base: string
      models?: string[]
      speaks: Record<string, unknown>
    }
    names.add(file.replace('.yaml', ''))
    names.add(new URL(provider.base).host)
    for (const model of provider.models ?? []) names.add(model)
  }
  // As words of a string or of a path: `messages` and `generate` are also English, and stand in no string of the engine.
  const pattern = new RegExp(
    `['"\`/](${[...names].map(name => name.replaceAll('.', '\\.')).join('|')})['"\`/]|/v1|[cC]laude|[oO]pen[aA][iI]|[aA]nthropic|[gG]emini|message_stop|\\[DONE\\]`,
  )
  const found = files('engine').flatMap(path =>
    codeOf(path)
      .split('\n')
      .filter(line => !line.startsWith('import ') && pattern.test(line))
      .map(line => `${path}: ${line.trim()}`),
  )
  expect(found).toEqual([])
})

test('imports go one way', () => {
  const wrong: string[] = []
  for (const path of ['engine', 'codegen', 'cli'].flatMap(files)) {
    const from = path.split('/')[0] as string
    for (const [, target] of read(path).matchAll(/(?:from|import\()\s*'([^']+)'/g)) {
      const to = (target as string).startsWith('.')
        ? (relative(root, join(root, path, '..', target as string)).split('/')[0] as string)
        : (target as string)
      const isAllowed =
        from === 'cli' ||
        (from === 'codegen' && to !== 'cli' && to !== 'generated') ||
        (from === 'engine' && !['codegen', 'cli', 'generated', 'ajv', 'jsonata', 'js-yaml'].includes(to) && !to.startsWith('ajv/'))
      const isKnown =
        (to !== 'uWebSockets.js' || path === 'engine/server.ts' || path.startsWith('cli/simulator/')) &&
        (to !== 'undici' || ['engine/world.ts', 'engine/send.ts', 'engine/inline.ts'].includes(path))
      if (!isAllowed || !isKnown) wrong.push(`${path} imports ${String(target)}`)
    }
  }
  expect(wrong).toEqual([])
})
