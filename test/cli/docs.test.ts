// Runs what the documentation shows: files that operators copy, and commands.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load, loadAll } from 'js-yaml'
import { afterAll, describe, expect, test } from 'vitest'
import type * as DefaultsModule from '../../cli/defaults.js'
import { freePort } from '../../cli/ports.js'
import type * as PrepareModule from '../../cli/prepare.js'
import type * as SpecsModule from '../../cli/specs.js'
import { MAIN } from '../command.js'
import { blocksOf, Shell, writeBlock } from '../docs-page.js'
import { KEY, startGateway, startSimulator } from '../harness.js'

const root = join(import.meta.dirname, '../..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { prepare } = (await import(built('cli/prepare.js'))) as typeof PrepareModule
const { specOf } = (await import(built('cli/specs.js'))) as typeof SpecsModule
const { DEMO_KEY } = (await import(built('cli/defaults.js'))) as typeof DefaultsModule

const readme = readFileSync(join(root, 'README.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'sluice-docs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The blocks of a language in a page. */
const blocks = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(found => found[1] as string)

const examples: [string, string][] = [
  ['gateway.example.yaml', readFileSync(join(root, 'gateway.example.yaml'), 'utf8')],
  ...blocks(readme, 'yaml').map((text, index): [string, string] => [`README.md, block ${index + 1}`, text]),
  ...['docs/parameters.md', 'docs/relay.md', 'docs/calls.md', 'docs/patterns.md'].flatMap(page =>
    blocks(readFileSync(join(root, page), 'utf8'), 'yaml').map((text): [string, string] => [page, text]),
  ),
]

test.each(examples)('%s can be served', async (name, text) => {
  for (const [, variable] of text.matchAll(/\$([A-Z_]+)/g)) process.env[variable as string] ??= `value-of-${variable as string}`
  const path = join(folder, `${name.replaceAll(/\W/g, '_')}.yaml`)
  writeFileSync(path, text)
  const { snapshot } = await prepare(path)
  expect(snapshot.models.size).toBeGreaterThan(0)
  await snapshot.close()
})

test('no example contains the hash of a key, as copies would accept that key', () => {
  for (const [, text] of examples) expect(text).not.toMatch(/[0-9a-f]{64}/)
})

test('the curl command of the README is answered', async () => {
  const line = /curl (http:\S+) (.*) -d '(.*)'/.exec(readme) as RegExpExecArray
  expect(line[2]).toContain(`Bearer ${DEMO_KEY}`)
  const simulator = await startSimulator({ listen: '127.0.0.1:0' })
  const { model } = load(line[3] as string) as { model: string }
  const gateway = await startGateway({
    upstreams: { sim: { provider: 'openai', base: simulator.url, secret: 'none', models: [model] } },
  })
  const response = await fetch(gateway.url + new URL(line[1] as string).pathname, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: line[3] as string,
  })
  expect(response.status).toBe(200)
  expect(await response.json()).toHaveProperty('choices')
  await gateway.close()
  await simulator.close()
})

/** Every page that a person wrote; what is made of code and data is made by tests of its own. */
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'examples/README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md') && !/^(?:reference|rules|decisions)\//.test(name))
    .map(name => join('docs', name)),
].sort()
/** Pages whose blocks are run one after the other in an empty folder. test/package/tutorial.test.ts does that for the tutorial. */
const followed = pages.filter(page => /^docs\/(?:quickstart|operating|howto\/(?!README).*)\.md$/.test(page))

describe('pages with steps', () => {
  test('are more than eight', () => expect(followed.length).toBeGreaterThan(8))

  test.each(followed)('run as %s shows them', async page => {
    const own = mkdtempSync(join(tmpdir(), 'sluice-page-'))
    const bin = mkdtempSync(join(tmpdir(), 'sluice-bin-'))
    writeFileSync(join(bin, 'sluice'), `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`, {
      mode: 0o755,
    })
    const ports: Record<string, number> = { 8080: await freePort(), 8090: await freePort() }
    const here = (text: string): string => text.replaceAll(/\b(8080|8090)\b/g, port => String(ports[port]))
    const shell = new Shell(own, { ...process.env, PATH: `${bin}:${process.env.PATH}` })
    try {
      for (const { language, path, text } of blocksOf(readFileSync(join(root, page), 'utf8'))) {
        if (path !== undefined) writeBlock(own, path, here(text))
        else if (language === 'bash') {
          // What was begun before needs a moment until it listens.
          if (text.startsWith('curl')) expect(await shell.runUntilGood(here(text)), text).not.toBe('\n')
          else
            await shell.run(
              here(text)
                .replaceAll('sluice simulate', `sluice simulate --listen 127.0.0.1:${ports[8090]}`)
                .replaceAll(/^sluice init( .*)?$/gm, `$& && sed -i 's/:8080/:${ports[8080]}/; s/:8090/:${ports[8090]}/' gateway.yaml`),
            )
        }
      }
    } finally {
      shell.end()
      for (const made of [own, bin]) rmSync(made, { recursive: true, force: true })
    }
  })
})

describe('the blocks of all pages', () => {
  const all = pages.flatMap(page => blocksOf(readFileSync(join(root, page), 'utf8')).map(block => ({ page, ...block })))
  const grammars = Object.fromEntries(
    [
      'gateway',
      'provider',
      'route',
      'mapping',
      'format',
      'case',
      'exchange',
      'scenario',
      'models',
      'library',
      'simulator_scenario',
      'fault',
    ].map(name => {
      const { required: _, ...schema } = specOf(name)
      return [name, schema]
    }),
  )
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false })
  ajv.addSchema(load(readFileSync(join(root, 'schemas/config/meters.yaml'), 'utf8')) as object, 'meters')
  const validators = Object.entries(grammars).map(([name, schema]) => [name, ajv.compile({ $id: `sluice:${name}`, ...schema })] as const)

  test('have YAML that is valid by one of our grammars, as a whole file or a part', () => {
    const wrong: string[] = []
    for (const { page, text, line, path } of all.filter(({ language }) => language === 'yaml')) {
      for (const value of loadAll(text)) {
        // What a reader is to fill in, and schemas of dialects, are looked at by their own tests.
        if (path === 'litellm.yaml' || text.includes('…') || (path?.startsWith('schemas/') && !path.endsWith('format.yaml'))) continue
        if (!validators.some(([, validate]) => validate(value))) wrong.push(`${page}:${line}`)
      }
    }
    expect(wrong).toEqual([])
  })

  test('have commands that exist, with options that exist', () => {
    const reference = readFileSync(join(root, 'docs/reference/cli.md'), 'utf8')
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
    const wrong: string[] = []
    let seen = 0
    for (const { page, text, line } of all.filter(({ language }) => ['bash', 'sh'].includes(language)))
      for (const command of text.split('\n').map(one => one.replace(/ {2,}#.*/, ''))) {
        const script = /\bnpm run ([\w:-]+)/.exec(command)?.[1]
        if (script !== undefined && !(script in scripts)) wrong.push(`${page}:${line}: npm run ${script}`)
        for (const [, words] of command.matchAll(/(?:^|\| |\(|npx )sluice ((?:[^|&>)"']|"[^"]*"|'[^']*')+)/g)) {
          seen++
          const [first = '', second = ''] = (words as string).trim().split(/\s+/)
          const section = [`## sluice ${first} ${second}`, `## sluice ${first}`].find(title => reference.includes(`${title}\n`))
          const help = section === undefined ? undefined : reference.slice(reference.indexOf(`${section}\n`)).split('\n## ')[0]
          const options = (words as string).replaceAll(/"[^"]*"|'[^']*'/g, '').match(/--[\w-]+/g) ?? []
          if (help === undefined || options.some(option => !help.includes(option))) wrong.push(`${page}:${line}: sluice ${words}`)
        }
      }
    expect(wrong).toEqual([])
    expect(seen).toBeGreaterThan(30)
  })
})

describe('links', () => {
  /** The pages that a person wrote, and those that are made. */
  const all = [
    ...pages,
    ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter(name => /^(?:reference|rules|decisions)\/.*\.md$/.test(name))
      .map(name => join('docs', name)),
  ]
  /** The fragments of a page's headings, as GitHub makes them. */
  const anchorsOf = (path: string): Set<string> => {
    const text = readFileSync(path, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
    const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'))
    return new Set(
      headings.map(heading =>
        heading
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
          .replaceAll(' ', '-'),
      ),
    )
  }

  test('lead to files and headings that exist', () => {
    const anchors = new Map<string, Set<string>>()
    const wrong: string[] = []
    let count = 0
    for (const page of all)
      for (const [, target = '', anchor] of readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)) {
        const path = target === '' ? join(root, page) : join(root, page, '..', target)
        if (!existsSync(path)) wrong.push(`${page} → ${target}`)
        else if (anchor !== undefined && path.endsWith('.md')) {
          count++
          if (!anchors.has(path)) anchors.set(path, anchorsOf(path))
          if (!anchors.get(path)?.has(anchor)) wrong.push(`${page} → ${target}#${anchor}`)
        }
      }
    expect(wrong).toEqual([])
    expect(count).toBeGreaterThan(50)
  })
})
