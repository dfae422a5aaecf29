// Merges an agent's settings into its files. A conflicting value is reported and not overwritten, and a file with another
// form is left alone. No key is written.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { isObject } from '../../engine/core/members.js'
import { jsonOr } from '../../engine/wire/json/parse.js'
import { CommandError, UsageError } from '../output.js'
import { type Agent, KEY_PLACE } from './agents.js'

type Json = Record<string, unknown>

/** Writes them; returns the paths. Throws a UsageError before anything is written if a file cannot take them. */
export function writeSettings(agent: Agent, env: Readonly<Record<string, string>>, text: string | undefined): string[] {
  const files = new Map<string, string>()
  if (agent.file !== undefined && text !== undefined) {
    const path = at(agent.file.path)
    files.set(path, path.endsWith('.json') ? withJson(path, JSON.parse(text) as Json) : withToml(path, text))
  }
  const plain = Object.fromEntries(Object.entries(env).filter(([, value]) => !value.includes(KEY_PLACE)))
  if (agent.settings !== undefined) {
    const path = at(agent.settings.path)
    const { member } = agent.settings
    files.set(path, member === undefined ? withVariables(path, plain) : withJson(path, { [member]: plain }))
  }
  try {
    for (const [path, content] of files) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
    }
  } catch (error) {
    throw new CommandError(`A file cannot be written: ${(error as NodeJS.ErrnoException).code ?? 'it fails'}.`)
  }
  return [...files.keys()]
}

function at(path: string): string {
  return path.startsWith('~/') ? join(process.env.HOME || homedir(), path.slice(2)) : path
}

function known(path: string): string {
  try {
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}.`)
  }
}

const taken = (path: string, what: string): UsageError =>
  new UsageError(`${path} already has ${what}; change it by hand, as printed without --write.`)

function withJson(path: string, more: Json): string {
  const text = known(path)
  const old = text.trim() === '' ? {} : jsonOr(text, undefined)
  if (!isObject(old))
    throw new UsageError(`${path} is not a JSON object without comments; add the settings by hand, as printed without --write.`)
  const all = merged(old, more, name => taken(path, name))
  return `${JSON.stringify(all, null, 2)}\n`
}

/** @param refusal the error for a member, named by its path, that has another value */
function merged(old: Json, more: Json, refusal: (name: string) => UsageError): Json {
  const result = { ...old }
  for (const [name, value] of Object.entries(more)) {
    const before = result[name]
    if (isObject(before) && isObject(value)) result[name] = merged(before, value, below => refusal(`${name}.${below}`))
    else if (before === undefined || before === value) result[name] = value
    else throw refusal(name)
  }
  return result
}

/** Top-level members go before the first table, tables at the end. */
function withToml(path: string, more: string): string {
  const old = known(path)
  if (old.trim() === '') return `${more.trim()}\n`
  const table = more.indexOf('\n[')
  const [head, tables] = [more.slice(0, table).trim(), more.slice(table).trim()]
  const names = [...head.matchAll(/^(\w+) =/gm)].map(([, name]) => name as string)
  const whole = old.slice(0, /^\[/m.exec(old)?.index ?? old.length)
  const titles = [...tables.matchAll(/^\[.*\]/gm)].map(([title]) => title)
  const clash = names.find(name => new RegExp(`^${name}\\s*=`, 'm').test(whole)) ?? titles.find(title => old.includes(title))
  if (clash !== undefined) throw taken(path, clash)
  return `${head}\n${old.trimEnd()}\n\n${tables}\n`
}

function withVariables(path: string, env: Readonly<Record<string, string>>): string {
  const old = known(path)
  const lines = old.split(/\r?\n/)
  const missing = Object.entries(env).filter(([name, value]) => {
    const line = lines.find(one => one.startsWith(`${name}=`))
    if (line !== undefined && line !== `${name}=${value}`) throw taken(path, name)
    return line === undefined
  })
  if (missing.length === 0) return old
  const before = old === '' || old.endsWith('\n') ? old : `${old}\n`
  return `${before}${missing.map(([name, value]) => `${name}=${value}\n`).join('')}`
}
