// `sluice check --online`: each upstream is asked for its list of models, once. That costs nothing, and tells whether host,
// certificate, base and secret are good.

import type { Finding } from '../codegen/read/findings.js'
import { readProject } from '../codegen/read/project.js'
import type { Place, YamlDocument } from '../codegen/read/yaml.js'
import { fullPath } from '../engine/snapshot/link.js'
import type { Target } from '../engine/snapshot/model.js'
import type { Prepared } from './prepare.js'

/** Milliseconds until an upstream must have answered. */
const PATIENCE = 10_000
/** Bytes of a list that are read. */
const MOST = 8 * 1024 * 1024

export interface Asked {
  upstream: string
  /** What came of it: `good`, a rule, or that it was not asked. */
  result: string
  /** How many models it lists, where it says so. */
  models?: number
}

/** Asks all upstreams at once. `roots` are those of the data; `document` is the operator's file. */
export async function askUpstreams(
  prepared: Prepared,
  document: YamlDocument,
  roots: readonly string[],
): Promise<{ findings: Finding[]; asked: Asked[] }> {
  const { providers } = readProject(roots)
  const findings: Finding[] = []
  const asked = await Promise.all(
    [...prepared.snapshot.accounts].map(async ([name, target]): Promise<Asked> => {
      const path = providers.get(target.provider.name)?.data.models_path
      if (path === undefined) return { upstream: name, result: 'not asked: its provider names no list of models' }
      if (target.isCallers) return { upstream: name, result: 'not asked: its callers bring their own credentials' }
      const given = prepared.gateway.upstreams[name]?.base ?? target.provider.base ?? ''
      const answer = await ask(target, new URL(given), path)
      const place = placeOf(document, name)
      if ('rule' in answer) {
        findings.push({ ...place, rule: answer.rule, detail: `${name}: ${answer.detail}`, remedy: answer.remedy })
        return { upstream: name, result: answer.rule }
      }
      findings.push(...unlisted(name, answer.models, prepared, document))
      return { upstream: name, result: 'good', ...(answer.models && { models: answer.models.size }) }
    }),
  )
  return { findings, asked }
}

type Answer = { models: ReadonlySet<string> | undefined } | { rule: string; detail: string; remedy: string }

async function ask(target: Target, base: URL, path: string): Promise<Answer> {
  const query: Record<string, string> = {}
  const { credential } = target.provider
  if (credential.query !== undefined && target.secret !== undefined) query[credential.query] = target.secret
  const url = base.origin + fullPath(base.pathname.replace(/\/$/, ''), path, undefined, query)
  let response: Response
  try {
    response = await fetch(url, { headers: headersOf(target), redirect: 'manual', signal: AbortSignal.timeout(PATIENCE) })
  } catch (error) {
    return failureOf(error, base.host)
  }
  const { status } = response
  if (status === 401 || status === 403) {
    await response.body?.cancel()
    return {
      rule: 'online/credential',
      detail: `${base.host} refuses the secret (${status})`,
      remedy: 'put a key in its place that is valid',
    }
  }
  if (status === 404) {
    await response.body?.cancel()
    return { rule: 'online/not-found', detail: `${base.host} has no list of models there (404)`, remedy: 'mend the base' }
  }
  if (status >= 300) {
    await response.body?.cancel()
    const remedy = "look at the account, and at the provider's status page"
    return { rule: 'online/status', detail: `${base.host} answers ${status}`, remedy }
  }
  try {
    return { models: modelsIn(JSON.parse(await textOf(response))) }
  } catch {
    return { rule: 'online/status', detail: `${base.host} answers what is no list of models`, remedy: 'mend the base' }
  }
}

/** What every request to the upstream has: its own headers, and the credential. */
function headersOf(target: Target): Record<string, string> {
  const [binding] = target.bindings.values()
  const headers: Record<string, string> = {}
  const list = binding?.headers ?? []
  for (let index = 0; index < list.length; index += 2) headers[list[index] as string] = list[index + 1] as string
  if (binding?.token) headers[binding.token.header] = binding.token.value()
  return headers
}

/** The body, so far as a list may be long. Throws over the limit. */
async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MOST) throw new RangeError('the list is longer than the limit')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The names in a list, as it has them and without a folder before; nothing where the list goes on elsewhere. */
function modelsIn(body: unknown): ReadonlySet<string> | undefined {
  const page = Object(body) as Record<string, unknown>
  const list = Array.isArray(body) ? body : (page.data ?? page.models)
  if (!Array.isArray(list)) throw new TypeError('no list')
  if (page.has_more === true || page.nextPageToken !== undefined || page.next_page_token !== undefined) return undefined
  const names = list.flatMap((item: unknown) => {
    const { id, name } = Object(item) as { id?: unknown; name?: unknown }
    const found = id ?? name
    return typeof found === 'string' ? [found, found.replace(/^models\//, '')] : []
  })
  return new Set(names)
}

/** Models that are asked of an upstream and that it does not list. */
function unlisted(upstream: string, models: ReadonlySet<string> | undefined, { gateway }: Prepared, document: YamlDocument): Finding[] {
  if (models === undefined || models.size === 0) return []
  return Object.entries(gateway.models).flatMap(([name, { targets }]) =>
    targets.flatMap((target, index) => {
      const asked = target.model ?? name
      if (target.upstream !== upstream || models.has(asked)) return []
      return [
        {
          ...document.at(['models', name, 'targets', index]),
          rule: 'online/model',
          detail: `${upstream} lists no model ${asked}`,
          remedy: 'mend the name',
        },
      ]
    }),
  )
}

function placeOf(document: YamlDocument, upstream: string): Place {
  return document.key(['upstreams', upstream])
}

function failureOf(error: unknown, host: string): Answer {
  const { name, cause } = error as { name?: string; cause?: { code?: string } }
  const code = cause?.code ?? ''
  if (name === 'TimeoutError' || /TIMEOUT|ETIMEDOUT/.test(code))
    return {
      rule: 'online/timeout',
      detail: `${host} has not answered in ${PATIENCE / 1000} seconds`,
      remedy: 'mend the address, or try again',
    }
  if (/^(?:ENOTFOUND|EAI_)/.test(code))
    return { rule: 'online/name', detail: `${host} has no address (${code})`, remedy: 'mend the host, or the DNS of this machine' }
  if (/CERT|TLS|SSL|UNABLE_TO_|SELF_SIGNED/.test(code)) {
    const remedy = 'mend the certificate, or tell Node of the authority with NODE_EXTRA_CA_CERTS'
    return { rule: 'online/tls', detail: `${host} has no certificate that is valid here (${code})`, remedy }
  }
  return { rule: 'online/connection', detail: `${host} cannot be reached${code === '' ? '' : ` (${code})`}`, remedy: 'mend the address' }
}
