// `sluice init` and `sluice new`: write new files, and never overwrite one.

import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { dump } from 'js-yaml'
import { fieldsOf } from '../../codegen/check/ledger.js'
import { DataError } from '../../codegen/read/findings.js'
import { membersOfEngine } from '../../codegen/read/members-of-engine.js'
import type { Project } from '../../codegen/read/project.js'
import { schemaId } from '../../codegen/read/schemas.js'
import { CommandError, type CommandResult, UsageError } from '../output.js'
import { folderOf, rootsOf } from '../overlay.js'
import { builtIn, projectOf } from '../project.js'
import { exampleFinder, type Part } from './examples.js'
import { dialectSkeleton, gatewaySkeleton, providerSkeleton, routeSkeleton } from './skeletons.js'

/** Writes gateway.yaml with a new key, which is printed once. Throws a UsageError if the file exists. */
export async function init(folder: string): Promise<CommandResult> {
  const key = `sk-sluice-${randomBytes(24).toString('base64url')}`
  const files = { 'gateway.yaml': gatewaySkeleton(createHash('sha256').update(key).digest('hex')) }
  const written = write(folder, files)
  const file = join(folder, 'gateway.yaml')
  return {
    json: { files: written, key },
    text: `${written.join('\n')}\nYour key, which is stored nowhere: ${key}\nNext: sluice simulate, and in another terminal: sluice start${folder === '.' ? '' : ` --config ${file}`}`,
    findings: [],
  }
}

export type Kind = 'endpoint' | 'provider' | 'dialect' | 'mapping'

/** Writes the files of a kind. Throws a UsageError for an invalid name, and if a file exists. */
export async function make(kind: Kind, name: string, path: string): Promise<CommandResult> {
  const folder = folderOf(path)
  mkdirSync(folder, { recursive: true })
  const files = filesOf(kind, name, folder)
  const written = write(folder, files)
  return { json: { files: written }, text: `${written.join('\n')}\nNext: sluice test ${folder}`, findings: [] }
}

function filesOf(kind: Kind, name: string, folder: string): Record<string, string> {
  if (kind === 'mapping') return mappingFiles(name, folder)
  const pattern = kind === 'provider' ? /^[a-z0-9]+([_-][a-z0-9]+)*$/ : /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/
  if (!pattern.test(name))
    throw new UsageError(
      `"${name}" is not a valid name for ${kind === 'endpoint' ? 'an' : 'a'} ${kind}: use lower-case letters and digits, joined by _.`,
    )
  const project = goodProject(folder)
  if (kind === 'provider') {
    if (project.providers.has(name)) throw new UsageError(`There is a provider ${name} already.`)
    return { [`providers/${name}.yaml`]: providerSkeleton(name) }
  }
  const dialect = Object.fromEntries(Object.entries(dialectSkeleton(name)).map(([file, text]) => [`schemas/${name}/${file}`, text]))
  if (kind === 'dialect') {
    if (project.dialects.has(name)) throw new UsageError(`There is a dialect ${name} already.`)
    return dialect
  }
  if (project.routes.some(route => route.name === name)) throw new UsageError(`There is a route ${name} already.`)
  const path = `/v1/${name.replaceAll('_', '/')}`
  if (project.routes.some(({ data }) => [data.path].flat().includes(path))) throw new UsageError(`There is a route at ${path} already.`)
  return { [`routes/${name}.yaml`]: routeSkeleton(name, path, name), ...(project.dialects.has(name) ? {} : dialect) }
}

/** A mapping that carries over only the model's name, with its cases: a template to be replaced line by line. */
function mappingFiles(pair: string, folder: string): Record<string, string> {
  const [from, to, more] = pair.split('-to-')
  if (from === undefined || to === undefined || more !== undefined)
    throw new UsageError(`"${pair}" is not a valid name for a mapping: write <client>-to-<upstream>, such as chat-to-messages.`)
  const project = goodProject(folder)
  for (const dialect of [from, to])
    if (!project.formats.has(dialect))
      throw new UsageError(
        `There is no dialect ${dialect}. Create it with \`sluice new dialect ${dialect}\`, or use one of: ${[...project.formats.keys()].sort().join(', ')}.`,
      )
  if (from === to)
    throw new UsageError(
      `Requests of ${from} pass to a provider that speaks ${from} as they are: \`request\` of its endpoint can change them.`,
    )
  const known = project.mappings.get(pair)
  if (known !== undefined)
    throw new UsageError(
      `There is a mapping ${pair} already, in ${placeOf(known.document.file, from, to)}. To replace it, copy what it says into mappings/${pair}/mapping.yaml with \`replaces: true\`, and change it there.`,
    )
  const find = exampleFinder(project, rootsOf(folder).roots)
  const example = (dialect: string, part: Part): Record<string, unknown> => {
    const found = find(dialect, part)
    if (found === undefined)
      throw new UsageError(`No ${part} of ${dialect} is known: write a mapping by hand, as docs/data-language.md says.`)
    return found as Record<string, unknown>
  }
  const asked = example(from, 'request')
  const sent = example(to, 'request')
  const answered = example(to, 'response')
  const given = example(from, 'response')
  const model = project.formats.get(to)?.data.model?.replace(/^body\./, '')
  const request = literal(sent, model)
  const ofEngine = membersOfEngine(project, from)
  const lost = fieldsOf(project.schemas, schemaId(from, 'request')).filter(({ name }) => !ofEngine.has(name))
  const lines = [
    `# Translates requests of ${from} for a provider that speaks ${to}. docs/data-language.md is the guide.`,
    `title: ${from} to ${to}`,
    '',
    "# The provider's request, from the client's. See the result: sluice try … request < request.json",
    'request: |',
    indented(request),
    '',
    "# The client's answer, from the provider's.",
    'response: |',
    indented(literal(given)),
    '',
    '# stream:                      # if it streams; see docs/data-language.md',
    '#   state: {}',
    '#   steps:',
    `#     - { name: a text goes on, when: text, emit: '{ "text": text }' }`,
    '',
    ...(lost.length === 0
      ? []
      : [
          '# Fields that are not carried over, and why. Remove a field when `request` reads it.',
          'fields:',
          '  dropped:',
          ...lost.map(({ path }) => `    '${path}': it is not carried over yet`),
        ]),
  ]
  const folderOf = `mappings/${pair}`
  const out = model === undefined || !(model in sent) ? sent : { ...sent, [model]: 'upstream-model' }
  const yaml = (value: unknown): string => dump(value, { lineWidth: 120, noRefs: true })
  return {
    [`${folderOf}/mapping.yaml`]: `${lines.join('\n').trimEnd()}\n`,
    [`${folderOf}/cases/request.yaml`]: yaml({ name: 'the least request', request: { in: asked, out } }),
    [`${folderOf}/cases/response.yaml`]: yaml({ name: 'the least answer', response: { in: answered, out: given } }),
  }
}

/** Where a mapping is written: in a file of its own, or in the halves of its dialects. */
function placeOf(file: string, from: string, to: string): string {
  return basename(file) === 'mapping.yaml' ? file : `the halves schemas/${from}/client/ and schemas/${to}/provider/`
}

/** An object as an expression, with the model's name from `$ctx`. */
function literal(value: Record<string, unknown>, model?: string): string {
  const members = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(name)}: ${name === model ? '$ctx.model' : JSON.stringify(item)}`,
  )
  return `{\n${members.map(member => `  ${member}`).join(',\n')}\n}`
}

function indented(text: string): string {
  return text
    .split('\n')
    .map(line => `  ${line}`)
    .join('\n')
}

/** Throws a DataError if the existing data is invalid. */
function goodProject(folder: string): Project {
  const project = existsSync(folder) ? projectOf(folder) : builtIn()
  if (project.findings.length > 0) throw new DataError(project.findings)
  return project
}

/** The grammars of the package that a folder has installed, in itself or above; undefined if it has none. */
function grammarsOf(folder: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const grammars = join(at, 'node_modules', 'sluice', 'schemas', 'config')
    if (existsSync(grammars)) return grammars
    if (at === dirname(at)) return undefined
  }
}

/** The first line of a file, by which editors find its grammar; empty where no grammar is in reach. */
function schemaLine(file: string, path: string, grammars: string | undefined): string {
  if (grammars === undefined) return ''
  return `# yaml-language-server: $schema=${relative(resolve(dirname(file)), join(grammars, grammarFor(path)))}\n`
}

function grammarFor(path: string): string {
  if (path === 'gateway.yaml' || path.endsWith('/mapping.yaml') || path.endsWith('/format.yaml')) return basename(path)
  if (path.startsWith('routes/')) return 'route.yaml'
  if (path.startsWith('providers/')) return 'provider.yaml'
  return path.includes('/cases/') ? 'case.yaml' : 'keywords/schema.yaml'
}

/** Writes files below a folder, all or none; returns their paths. */
function write(folder: string, files: Readonly<Record<string, string>>): string[] {
  const paths = Object.keys(files).map(path => join(folder, path))
  for (const path of paths) if (existsSync(path)) throw new UsageError(`${path} exists already; nothing was written.`)
  const grammars = grammarsOf(folder)
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), schemaLine(join(folder, path), path, grammars) + text, { flag: 'wx' })
    }
  } catch (error) {
    throw new CommandError(`${folder} cannot be written to: ${(error as NodeJS.ErrnoException).code ?? 'it fails'}.`)
  }
  return paths
}
