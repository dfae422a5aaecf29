// Asks a provider for the models of an account, which costs nothing.

import { fullPath } from '../engine/snapshot/bindings.js'
import type { Target } from '../engine/snapshot/model.js'

/** Milliseconds in which an upstream must answer completely. */
const PATIENCE = 10_000
/** The longest list: bytes. */
const MOST = 8 * 1024 * 1024

/** The result: the names without a folder, or an error as a rule of `sluice check`. */
export type Answer = { names: readonly string[]; isPart: boolean } | { rule: string; detail: string; remedy: string }

/**
 * Asks an upstream once. Never rejects.
 * @param base the address of the upstream
 * @param path the provider's `models_path`, which may have a query
 */
export async function askModels(target: Target, base: URL, path: string): Promise<Answer> {
  const [bare, given] = path.split('?') as [string, string?]
  const query: Record<string, string> = Object.fromEntries(new URLSearchParams(given))
  const { credential } = target.provider
  if (credential.query !== undefined && target.secret !== undefined) query[credential.query] = target.secret
  const url = base.origin + fullPath(base.pathname.replace(/\/$/, ''), bare, undefined, query)
  let response: Response
  try {
    response = await fetch(url, { headers: headersOf(target), redirect: 'manual', signal: AbortSignal.timeout(PATIENCE) })
  } catch (error) {
    return failureOf(error, base.host)
  }
  const { status } = response
  if (status >= 300) {
    await response.body?.cancel().catch(() => undefined)
    return refusalOf(status, base.host)
  }
  try {
    return namesIn(JSON.parse(await textOf(response)))
  } catch (error) {
    if ((error as { name?: string }).name === 'TimeoutError') return failureOf(error, base.host)
    return { rule: 'online/status', detail: `${base.host} does not answer with a list of models`, remedy: 'correct the base' }
  }
}

/** The headers of every request to the upstream: its own, and the credential. */
function headersOf(target: Target): Record<string, string> {
  const [binding] = target.bindings.values()
  const headers: Record<string, string> = {}
  const list = binding?.headers ?? []
  for (let index = 0; index < list.length; index += 2) headers[list[index] as string] = list[index + 1] as string
  if (binding?.token) headers[binding.token.header] = binding.token.value()
  return headers
}

/** The body. Throws if it is too long for a list. */
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

/** The names in a list, and whether it has further pages. Throws if the body is not a list. */
function namesIn(body: unknown): { names: string[]; isPart: boolean } {
  const page = Object(body) as Record<string, unknown>
  const list = Array.isArray(body) ? body : (page.data ?? page.models)
  if (!Array.isArray(list)) throw new TypeError('no list')
  const names = list.flatMap((item: unknown) => {
    const { id, name } = Object(item) as { id?: unknown; name?: unknown }
    const found = id ?? name
    return typeof found === 'string' ? [found.replace(/^models\//, '')] : []
  })
  return { names, isPart: page.has_more === true || page.nextPageToken !== undefined || page.next_page_token !== undefined }
}

function refusalOf(status: number, host: string): Answer {
  if (status === 401 || status === 403)
    return { rule: 'online/credential', detail: `${host} refuses the secret (${status})`, remedy: 'configure a valid key' }
  if (status === 404) return { rule: 'online/not-found', detail: `${host} has no list of models there (404)`, remedy: 'correct the base' }
  return { rule: 'online/status', detail: `${host} answers ${status}`, remedy: "look at the account, and at the provider's status page" }
}

function failureOf(error: unknown, host: string): Answer {
  const { name, cause } = error as { name?: string; cause?: { code?: string } }
  const code = cause?.code ?? ''
  if (name === 'TimeoutError' || /TIMEOUT|ETIMEDOUT/.test(code))
    return {
      rule: 'online/timeout',
      detail: `${host} has not answered in ${PATIENCE / 1000} seconds`,
      remedy: 'correct the address, or try again',
    }
  if (/^(?:ENOTFOUND|EAI_)/.test(code))
    return {
      rule: 'online/name',
      detail: `${host} does not resolve (${code})`,
      remedy: 'correct the host name, or the DNS of this machine',
    }
  if (/CERT|TLS|SSL|UNABLE_TO_|SELF_SIGNED/.test(code)) {
    const remedy = 'repair the certificate, or add its authority with NODE_EXTRA_CA_CERTS'
    return { rule: 'online/tls', detail: `${host} has no valid certificate (${code})`, remedy }
  }
  return { rule: 'online/connection', detail: `${host} cannot be reached${code === '' ? '' : ` (${code})`}`, remedy: 'correct the address' }
}
