/** The table of cases, multiplied: a job for each case, dialect of clients, dialect of providers and mode. */
import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'

const read = name => load(readFileSync(`clients/${name}.yaml`, 'utf8')) ?? {}
const table = read('cases')
const errors = read('errors')
const known = read('known')

/** The dialects of text, as clients and as providers speak them. */
export const DIALECTS = ['chat', 'messages', 'generate', 'responses']
const MODES = ['whole', 'stream']

export const KEY = 'clients-key'

/**
 * @typedef {{
 *   id: string, name: string, pair: string, client: string, provider: string, model: string, scene?: { name: string, script: unknown },
 *   known: { number: string, isSure: boolean }[], expect?: object[], fails?: { status: number, word: string, class: string } | { classes: string[] },
 *   retryAfter?: string, cannot?: string, heard: string[], says: object
 * }} Job  `says` is the input of the language's program.
 */

/** @returns {Job[]} */
export function jobsFor(language) {
  const jobs = []
  for (const one of table.cases)
    for (const client of one.clients ?? DIALECTS)
      for (const provider of lanesOf(one, client))
        for (const mode of one.modes ?? MODES) jobs.push(jobOf(language, one, client, provider, mode, `case-${jobs.length}`))
  return jobs
}

function lanesOf(one, client) {
  if (one.lanes === 'once') return [client]
  return (one.providers ?? DIALECTS).filter(provider => one.lanes !== 'translated' || provider !== client)
}

function jobOf(language, one, client, provider, mode, id) {
  const pair = one.lanes === 'once' ? client : `${client} → ${provider}`
  const name = `${pair}: ${one.name}, ${mode}`
  const simulated = one.script === undefined ? one.model : `scene-${id}`
  const { tools, ...ask } = one.ask ?? {}
  return {
    id,
    name,
    pair,
    client,
    provider,
    model: simulated,
    ...(one.script !== undefined && { scene: { name: simulated, script: one.script } }),
    known: Object.entries(known).flatMap(([number, patterns]) =>
      patterns
        .filter(pattern => new RegExp(pattern.sometimes ?? pattern).test(`${language} ${name}`))
        .map(pattern => ({ number, isSure: pattern.sometimes === undefined })),
    ),
    expect: one.expect,
    ...(one.fails !== undefined && { fails: failureOf(language, one.fails, client, provider) }),
    retryAfter: one.retry_after,
    cannot: one.cannot?.[`${language} ${client}`],
    heard: one.heard ?? [],
    says: {
      id,
      does: one.does ?? 'talk',
      dialect: client,
      mode,
      model: simulated === undefined ? 'nobody' : `${provider}/${simulated}`,
      // The simulator's record of requests identifies a case by this text.
      text: `Hello, this is ${id}.`,
      key: one.key ?? KEY,
      strict: one.strict ?? false,
      retries: one.retries ?? 0,
      tools: (tools ?? []).map(tool => ({ name: tool, ...table.tools[tool] })),
      result: one.result,
      ...ask,
    },
  }
}

function failureOf(language, fails, client, provider) {
  if (fails === 'broken') return { classes: errors.in_streams[language][client] }
  const classes = errors.classes[language][client]
  const kind = typeof fails === 'number' ? errors.kind_of[fails] : fails
  const [told, word] = errors.kinds[client][kind]
  // About the gateway's own key nothing is passed on; the rest stays as it was where nothing is translated.
  const isKept = typeof fails === 'number' && client === provider && kind !== 'upstream'
  const status = isKept || (fails === 500 && client === provider) ? fails : told
  return { status, word, class: classes[status] ?? classes.every }
}

/** Marks of `known.yaml` that fit no case of any of these languages: the case has another name now, or was removed. */
export function idleMarks(languages) {
  const names = languages.flatMap(language => jobsFor(language).map(({ name }) => `${language} ${name}`))
  return Object.values(known)
    .flat()
    .map(pattern => pattern.sometimes ?? pattern)
    .filter(pattern => !names.some(name => new RegExp(pattern).test(name)))
}
