/** One request of a workload to one contender, and the proof that its answer is right. */
import { request } from 'undici'
import { contenders } from './contenders.mjs'
import { dialects, verify } from './dialects.mjs'
import { modelName } from './gateway-config.mjs'

/**
 * `who` is a contender's name; with the suffix ` same` it gets the upstream's own dialect, even if it translates.
 * @typedef {{ url: string, method: 'POST', path: string, headers: Record<string, string>, body: string, dialect: string, stream: boolean }} Exchange
 * @returns {Exchange}
 */
export function exchange(workload, who, running, bench) {
  const [name, same] = who.split(' ')
  const contender = contenders[name]
  const dialect = contender.translates && !same ? workload.client : workload.upstream
  const stream = workload.answer !== 'json'
  const model = modelName(workload)
  const headers = { 'content-type': 'application/json', ...contender.headers({ upstreamDialect: workload.upstream }, bench) }
  if (dialect === 'messages') headers['anthropic-version'] = '2023-06-01'
  return {
    url: running.url,
    method: 'POST',
    path: dialects[dialect].path(model, stream),
    headers,
    body: dialects[dialect].request({ model, stream, bytes: workload.bytes }),
    dialect,
    stream,
  }
}

/** The label of a contender in a workload: with its dialect, if it is not the client's. */
export function label(workload, who) {
  const [name, same] = who.split(' ')
  const { title, translates } = contenders[name]
  return workload.client !== workload.upstream && (same || !translates) ? `${title} (${workload.upstream})` : title
}

/** Sends it once and reads the whole answer. @returns {Promise<{ length: number, events: number }>} */
export async function prove({ url, path, method, headers, body, dialect, stream }) {
  const answer = await request(url + path, { method, headers, body, headersTimeout: 10_000, bodyTimeout: 10_000 })
  const text = await answer.body.text()
  const { events } = verify(dialect, stream, { status: answer.statusCode, type: String(answer.headers['content-type'] ?? ''), body: text })
  return { length: Buffer.byteLength(text), events }
}
