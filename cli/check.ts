// `sluice check`: reports all errors and probable mistakes in a configuration and the data beside it.

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DataError, type Finding } from '../codegen/read/findings.js'
import { isFolder } from '../codegen/read/status.js'
import { parseYaml, type YamlDocument } from '../codegen/read/yaml.js'
import { folderProblem } from '../control/folder.js'
import { readConfig, type Settings } from './config/config.js'
import { type CommandResult, count, UsageError } from './output.js'
import { doubtsBeside } from './overlay/doubts.js'
import { unreadBeside } from './overlay/unread.js'
import { rootsOf } from './overlay.js'
import { loadFacts } from './plan.js'
import { type OpenState, prepare } from './prepare.js'
import { fillSecrets } from './secrets.js'
import { openState } from './state/state.js'
import { warningsIn, warningsOfFile } from './warnings.js'

export interface CheckOptions {
  /** Whether to read secrets. */
  env?: boolean
  /** Whether to ask the upstreams. */
  online?: boolean
  /** Whether to check the store. */
  store?: boolean
}

/** A check shares no limits with other processes. */
export const alone: OpenState = () => openState(undefined)

/** Returns a summary of the configuration, and its warnings. Throws a DataError if it cannot be served. */
export async function check(path: string, options: CheckOptions): Promise<CommandResult> {
  const config = fileOf(path)
  if (options.online && options.env === false) throw new UsageError('--online needs the secrets that --no-env does not read.')
  if (options.store && options.env === false) throw new UsageError('--store may need the secrets that --no-env does not read.')
  if (options.env === false) fillSecrets(config)
  const prepared = await prepare(config, alone).catch(async (error: unknown) => {
    if (!(error instanceof DataError)) throw error
    const rest = options.env === false ? error.findings.filter(({ rule }) => rule !== 'secret/file') : error.findings
    if (rest.length > 0) throw new DataError([...rest, ...(await warningsBeside(config))])
    return undefined
  })
  // Everything is valid except for secret files that are elsewhere.
  if (prepared === undefined) return { json: { file: config }, text: `${config}: no findings`, findings: [] }
  const { snapshot } = prepared
  try {
    const documents = parseYaml(config, readFileSync(config, 'utf8'), [])
    const [document] = documents
    const warnings = [...warningsIn(documents, prepared), ...unreadBeside(dirname(config)), ...doubtsBeside(config, document)]
    // Without secrets, this is not the machine that serves.
    if (options.env !== false && document !== undefined) warnings.push(...folderDoubts(document, prepared.settings))
    if (options.online && document !== undefined) {
      const { askUpstreams } = await import('./online.js')
      const { findings, asked } = await askUpstreams(prepared, document, rootsOf(dirname(config)).roots)
      const all = [...warnings, ...findings]
      const rows = asked.map(
        ({ upstream, result, models }) => `${upstream}: ${result}${models === undefined ? '' : `, ${count(models, 'model')}`}`,
      )
      return { json: { file: config, upstreams: asked }, text: rows.join('\n'), findings: all }
    }
    if (options.store && document !== undefined) {
      const { store } = prepared.settings
      if (store === undefined) throw new UsageError(`${config} has no store.`)
      const { checkStore } = await import('./store-check.js')
      const { findings, keys, teams } = await checkStore(store, prepared.gateway, document)
      const text = `${config}: ${count(keys, 'key')} and ${count(teams, 'team')} in the store`
      return { json: { file: config, store: { keys, teams } }, text, findings: [...warnings, ...findings] }
    }
    const found = warnings.length === 0 ? 'no findings' : count(warnings.length, 'warning')
    return {
      json: { file: config, models: snapshot.models.size, keys: snapshot.keys.size },
      text: `${config}: ${count(snapshot.models.size, 'model')}, ${count(snapshot.keys.size, 'key')}, ${found}`,
      findings: warnings,
    }
  } finally {
    await snapshot.close()
  }
}

/** The warning about a store whose folder a start could not use. */
function folderDoubts(document: YamlDocument, { store }: Settings): Finding[] {
  const problem = store && folderProblem(store.folder)
  if (problem === undefined) return []
  const remedy = 'name another folder, `store: { folder: … }`, or check as the user that runs the gateway'
  return [{ ...document.at(['store']), rule: 'store/unwritable', detail: problem, remedy }]
}

/** The warnings about a file with errors, as far as they need nothing else. */
async function warningsBeside(config: string): Promise<Finding[]> {
  const { documents, loaded } = await readConfig(config, await loadFacts(undefined), config)
  const ofFile = loaded === undefined ? [] : warningsOfFile(documents, loaded.gateway)
  return [...ofFile, ...unreadBeside(dirname(config)), ...doubtsBeside(config, documents[0])]
}

/** The configuration in a folder, if a folder is given. */
export function fileOf(path: string): string {
  return isFolder(path) ? join(path, 'gateway.yaml') : path
}
