// Probable mistakes in a configuration that can still be served. No warning quotes a secret.

import { createHash } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import type { Finding } from '../codegen/read/findings.js'
import { useOneOf } from '../codegen/read/suggest.js'
import type { Pointer, YamlDocument } from '../codegen/read/yaml.js'
import { isPostgres } from '../control/settings.js'
import { matcher } from '../engine/core/text.js'
import type { GatewayConfig } from '../engine/snapshot/config.js'
import { mayUse } from '../engine/stages/choose.js'
import type { GatewayKey } from '../schemas/config/types.js'
import { findIn } from './config/find.js'
import { unseenBy } from './config/patterns.js'
import { type ReadSecret, secretReader } from './config/secret.js'
import type { Prepared } from './prepare.js'
import { unpricedModels } from './unpriced.js'

/** The passwords that are tried first. */
const GUESSED = [
  ...['', 'password', 'passw0rd', 'secret', 'test', 'testing', 'test-key', 'key', 'api-key', 'apikey', 'api_key', 'token', 'admin'],
  ...['root', 'user', 'demo', 'example', 'default', 'changeme', 'change-me', 'letmein', 'qwerty', 'abc', 'abc123', 'foo', 'bar', 'dummy'],
  ...['none', 'null', 'undefined', 'x', 'xxx', '0', '1', '123', '1234', '12345', '123456', '12345678', '123456789', '1234567890'],
  ...[
    'sk-test',
    'sk-1234',
    'sk-123456',
    'sk-xxx',
    'sk-demo',
    'sk-dummy',
    'sk-key',
    'sluice',
    'sluice-demo',
    'sluice-key',
    'gateway',
    'master',
  ],
  ...['my-key', 'my-secret', 'your-key', 'your-api-key', 'bearer', 'hello', 'hello world'],
]
const GUESSED_SHA256 = new Set(GUESSED.map(sha256))

/** Characters. */
const LEAST_KEY = 12

/** Upper-case words joined by underscores: the name of a variable, not a secret. */
const IS_NAME = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/

/** The warnings about a valid configuration, unordered. */
export function warningsIn(documents: readonly YamlDocument[], prepared: Prepared): Finding[] {
  const [document] = documents
  return document === undefined ? [] : [...warningsOfFile(documents, prepared.gateway), ...warningsOfServed(document, prepared)]
}

/** The warnings that need nothing but the file, which may have errors. */
export function warningsOfFile(documents: readonly YamlDocument[], gateway: GatewayConfig): Finding[] {
  const findings: Finding[] = []
  const [document, second] = documents
  if (document === undefined) return []
  const warn = findIn(document, findings)
  if (second !== undefined)
    findings.push({
      ...second.at([]),
      rule: 'yaml/second-document',
      detail: 'this document is not read',
      remedy: 'merge it into the first one, or remove it',
    })

  const secret = secretReader(dirname(resolve(document.file)), false, () => undefined)
  gateway.keys.forEach(({ name, expires, sha256: hash }, index) => {
    const here: Pointer = ['keys', index]
    if (expires !== undefined && expires <= Date.now())
      warn([...here, 'expires'], 'key/expired', `the key ${name} has expired`, 'remove it, or give it a later date')
    const value = keyValue(document, index, secret)
    // What cannot be read was reported already.
    if (value === '') return
    if (GUESSED_SHA256.has(hash) || hash === sha256(name))
      warn(here, 'key/guessable', `the key ${name} can be guessed`, 'make one with `openssl rand -hex 32`')
    else if (value !== undefined && value.length < LEAST_KEY)
      warn(
        here,
        'key/guessable',
        `the key ${name} has ${value.length} characters, so it can be guessed`,
        'make one with `openssl rand -hex 32`',
      )
  })

  for (const [name, { targets, routing }] of Object.entries(gateway.models)) {
    if (routing?.hedgeAfter !== undefined && targets.length === 1)
      warn(['models', name, 'hedge'], 'model/hedge', `${name} has no second target`, 'add a target, or remove hedge')
    if (targets.every(({ weight }) => weight === 0))
      warn(
        ['models', name],
        'model/weights',
        `every target of ${name} has the weight 0, so none is ever chosen`,
        'give one a weight above 0',
      )
  }

  for (const [name, { at, refusesStreams }] of Object.entries(gateway.calls ?? {})) {
    const said = (Object(document.value) as { call?: Record<string, { streams?: unknown } | undefined> }).call?.[name]?.streams
    if (at === 'answer' && refusesStreams && said === undefined)
      warn(
        ['call', name],
        'call/streams',
        `${name} sees whole answers only, so streaming requests are refused`,
        'add streams: refuse to confirm, or streams: pass to let them pass unchecked',
      )
  }

  for (const [pointer, value] of secretsIn(document.value)) {
    if (!IS_NAME.test(value)) continue
    warn(
      pointer,
      'secret/literal',
      `${pointer.join('.')} looks like the name of a variable, but is used as the secret itself`,
      'write a $ before it',
    )
  }
  return findings
}

/** The warnings about what is served. */
function warningsOfServed(document: YamlDocument, { gateway, snapshot, settings }: Prepared): Finding[] {
  const findings: Finding[] = []
  const warn = findIn(document, findings)
  const models = [...snapshot.models.values()]
  if (models.length > 0 && gateway.keys.length === 0 && settings.store === undefined && settings.tokens === undefined)
    warn(['models'], 'keys/none', 'nobody can call a model, since there are no keys', 'add keys, store or jwt')
  const { store } = settings
  if (store !== undefined && isPostgres(store.at) && store.seal === undefined && gateway.keeps)
    warn(
      ['store'],
      'seal/shared',
      'without a seal no other instance finds what this one keeps of answers and conversations',
      'add seal: [$SLUICE_SEAL], the same at every instance, or kept: { for: none }',
    )
  // A pattern matches more models than lists show.
  const beginnings = Object.keys(gateway.models).flatMap(name => (name.includes('*') ? [name.slice(0, name.indexOf('*'))] : []))
  const mayMean = (pattern: string): boolean => {
    const [beginning] = pattern.split('*') as [string]
    return beginnings.some(one => one.startsWith(beginning) || beginning.startsWith(one))
  }
  const routes = [...snapshot.plan.routes.map(({ name }) => name), ...Object.keys(gateway.proxies ?? {})]
  gateway.keys.forEach(({ name, routes: patterns }, index) => {
    patterns?.forEach((pattern, number) => {
      if (routes.some(matcher([pattern]))) return
      const here: Pointer = ['keys', index, 'routes', number]
      warn(here, 'key/routes', `the pattern ${pattern} of the key ${name} matches no route`, useOneOf(routes, pattern))
    })
  })
  gateway.keys.forEach((config, index) => {
    // A configuration without models is still being written.
    if (models.length === 0) return
    const key = { ...config, matches: matcher(config.models) }
    const here: Pointer = ['keys', index]
    const { name } = config
    let isNamed = false
    config.models?.forEach((pattern, number) => {
      const matches = matcher([pattern])
      if (models.some(model => matches(model.name)) || mayMean(pattern)) return
      isNamed = true
      warn(
        [...here, 'models', number],
        'key/wildcard',
        `the pattern ${pattern} of the key ${name} matches no model`,
        `use the names of models: ${listed(models.map(model => model.name))}`,
      )
    })
    if (config.enabled && !isNamed && beginnings.length === 0 && !models.some(model => mayUse(key, model)))
      warn(here, 'key/models', `the key ${name} may use no model`, 'give it a group of a model, or a pattern that matches one')
  })

  for (const [name, pattern] of Object.entries(gateway.patterns ?? {})) {
    const unseen = unseenBy(pattern, snapshot, gateway)
    if (unseen.length > 0)
      warn(
        ['patterns', name],
        'pattern/unseen',
        `${name} cannot look at what passes on ${listed(unseen)}`,
        'name the routes that it is for with routes:, and keep keys off the others with their own routes:',
      )
  }
  return [...findings, ...unpricedModels(document, gateway, snapshot)]
}

/** The text of a key; empty if it cannot be read, and undefined if only its hash is known. */
function keyValue({ value: file }: YamlDocument, index: number, secret: ReadSecret): string | undefined {
  const { value } = (file as { keys: readonly { value?: GatewayKey['value'] }[] }).keys[index] as { value?: GatewayKey['value'] }
  return value === undefined ? undefined : (secret(value, []) ?? '')
}

/** The secrets that are written as texts. */
function secretsIn(value: unknown): [Pointer, string][] {
  const file = Object(value) as {
    keys?: { value?: unknown }[]
    upstreams?: Record<string, { secret?: unknown } | null>
    seal?: unknown[]
    call?: Record<string, { headers?: Record<string, unknown> } | null>
  }
  const all: [Pointer, unknown][] = [
    ...[file.keys ?? []].flat().map((key, index): [Pointer, unknown] => [['keys', index, 'value'], key?.value]),
    ...Object.entries(file.upstreams ?? {}).map(([name, one]): [Pointer, unknown] => [['upstreams', name, 'secret'], one?.secret]),
    ...[file.seal ?? []].flat().map((one, index): [Pointer, unknown] => [['seal', index], one]),
    ...Object.entries(file.call ?? {}).flatMap(([name, one]) =>
      Object.entries(one?.headers ?? {}).map(([header, text]): [Pointer, unknown] => [['call', name, 'headers', header], text]),
    ),
  ]
  return all.filter((one): one is [Pointer, string] => typeof one[1] === 'string')
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The first few of many names. */
function listed(names: readonly string[]): string {
  return names.length > 8 ? `${names.slice(0, 8).join(', ')}, …` : names.join(', ')
}
