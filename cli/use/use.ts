// `sluice use`: prints an agent's settings for this gateway. Writes only on request, and never prints a key.

import { existsSync, readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import { isObject } from '../../engine/core/members.js'
import { address } from '../address.js'
import { fileOf } from '../check.js'
import { type CommandResult, UsageError } from '../output.js'
import { AGENTS, type Agent, KEY_PLACE } from './agents.js'
import { limitsOf } from './limits.js'
import { writeSettings } from './write.js'

export interface UseOptions {
  url?: string
  model?: string
  config?: string
  /** Writes the settings into the agent's files. */
  write?: boolean
}

/** The settings. Throws a UsageError if the address or the file is invalid. */
export async function use(name: string, options: UseOptions): Promise<CommandResult> {
  const agent = AGENTS[name] as Agent
  const file = fileOf(options.config ?? 'gateway.yaml')
  if (options.config !== undefined && !existsSync(file)) throw new UsageError(`${file} cannot be read.`)
  const known = existsSync(file) ? knownIn(file) : {}
  const base = (options.url ?? known.url ?? 'http://127.0.0.1:8080').replace(/\/+$/, '')
  if (!URL.canParse(base)) {
    const what = options.url === undefined ? `\`listen\` of ${file} is no address: name one with --url,` : '--url must be an address'
    throw new UsageError(`${what} such as https://gateway.example.com.`)
  }
  const url = base + agent.path
  const model = options.model ?? known.model ?? '<a model>'
  const filled = (text: string): string => text.replaceAll('{url}', url).replaceAll('{model}', model).replaceAll('{key}', KEY_PLACE)
  const env = Object.fromEntries(Object.entries(agent.env).map(([variable, value]) => [variable, filled(value)]))
  const settings = agent.file && { path: agent.file.path, text: filled(await withLimits(agent.file, model, file)) }
  if (options.write) {
    if (options.model === undefined && known.model === undefined) throw new UsageError(`Name a model with --model: ${file} names none.`)
    const keys = Object.entries(env).filter(([, value]) => value.includes(KEY_PLACE))
    const written = writeSettings(agent, env, settings?.text)
    return {
      json: { agent: name, written, run: agent.run, sources: agent.sources },
      text: [
        ...written.map(path => `written: ${path}`),
        'In the shell, for each session:',
        ...keys.map(([variable, value]) => `export ${variable}='${value}'`),
        agent.run,
        ...(agent.note ? [`# ${agent.note}`] : []),
      ].join('\n'),
      findings: [],
    }
  }
  const lines = [
    `# ${agent.title}, as ${agent.sources.join(' and ')} say`,
    ...(settings ? [`# ${settings.path}:`, settings.text, '', '# in the shell:'] : []),
    ...Object.entries(env).map(([variable, value]) => `export ${variable}='${value}'`),
    agent.run,
    ...(agent.note ? [`# ${agent.note}`] : []),
  ]
  return {
    json: { agent: name, env, ...(settings && { file: settings }), run: agent.run, sources: agent.sources },
    text: lines.join('\n'),
    findings: [],
  }
}

/** The text of a settings file, with the limits of the model if it takes them and they are known. */
async function withLimits({ text, limits }: NonNullable<Agent['file']>, model: string, config: string): Promise<string> {
  if (limits === undefined) return text
  const known = existsSync(config) ? await limitsOf(model, config) : undefined
  const said = known === undefined ? '' : limits.replace('{context}', String(known.context)).replace('{output}', String(known.output))
  return text.replace('{limits}', said)
}

/** The address and first model of a configuration that may have errors elsewhere. */
function knownIn(file: string): { url?: string; model?: string } {
  let value: unknown
  try {
    value = load(readFileSync(file, 'utf8'))
  } catch {
    throw new UsageError(`${file} is not YAML: sluice check shows the error.`)
  }
  const { listen, models, upstreams } = membersOf(value)
  const listed = Object.values(membersOf(upstreams)).flatMap(one => membersOf(one).models ?? [])
  const model = [...Object.keys(membersOf(models)), ...listed].find(isName)
  if (typeof listen !== 'string') return model === undefined ? {} : { model }
  const { host, port } = address(listen)
  // An address that listens on all interfaces is reached here, too.
  const reached = host === '0.0.0.0' || host === '' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return { url: `http://${reached}:${port}`, ...(model !== undefined && { model }) }
}

const membersOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {})

/** Whether an agent can ask for a model by this name: a pattern stands for others. */
const isName = (name: unknown): name is string => typeof name === 'string' && !name.includes('*')
