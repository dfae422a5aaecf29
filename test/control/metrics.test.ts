// The closed list of metrics, and those that tell of targets, queues, silences and reloads.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, createStage, FILE_KEY, type Instance, type Stage, until } from './stage.js'

let stage: Stage
let gateway: Instance
beforeAll(async () => {
  stage = await createStage()
  const price = { input: 1, output: 5 }
  const up = { provider: 'openai', base: stage.simulator.url, secret: 'none' }
  gateway = await stage.start({
    admin: { listen: '127.0.0.1:0' },
    upstreams: {
      up,
      narrow: { ...up, concurrency: { max_requests: 1, max_pending_requests: 9, pending_timeout: '20s' } },
      bad: { ...up, health: { consecutive_failures: 1, base_ejection_time: '1m' } },
    },
    models: {
      sim: { targets: [{ upstream: 'up' }], price },
      slow: { targets: [{ upstream: 'narrow', model: 'sim-80-20ms' }], price },
      broken: { targets: [{ upstream: 'bad', model: 'sim-error-500' }], price },
    },
    budgets: { all: { limit: '5/day', metrics: true } },
  })
})
afterAll(() => stage?.close())

const OPEN = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
async function pageOf({ log }: Instance, accept?: string): Promise<Response> {
  const { admin } = JSON.parse(log.find(line => line.includes('control process is ready')) as string) as { admin: string }
  return fetch(`${admin}/metrics`, { headers: accept === undefined ? {} : { accept } })
}
const page = async (): Promise<string> => (await pageOf(gateway)).text()
/** The value of a series; undefined if there is none. */
const figureOf = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find(one => one.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}
const untilIs = async (series: string, value: number): Promise<void> => {
  expect([series, figureOf(await until(page, text => figureOf(text, series) === value), series)]).toEqual([series, value])
}

/** Names and labels; as docs/operating.md lists them. */
const METRICS: Readonly<Record<string, string[]>> = {
  sluice_requests_total: ['route', 'dialect', 'upstream_dialect', 'model', 'target', 'status', 'ended'],
  sluice_request_seconds: ['route', 'model', 'target', 'ended'],
  sluice_overhead_seconds: ['route', 'dialect', 'upstream_dialect'],
  sluice_first_token_seconds: ['model', 'target'],
  sluice_token_seconds: ['model', 'target'],
  sluice_stream_gap_seconds: ['model', 'target'],
  sluice_tokens_total: ['kind', 'model', 'target'],
  sluice_cost_total: ['model', 'target', 'group', 'currency'],
  sluice_charge_total: ['model', 'target', 'group', 'currency'],
  sluice_unpriced_total: ['model', 'target', 'group'],
  sluice_attempts_total: ['target', 'outcome'],
  sluice_target_up: ['target'],
  sluice_target_in_flight: ['target'],
  sluice_queue_seconds: ['target', 'outcome'],
  sluice_refused_total: ['reason', 'group'],
  sluice_dropped_fields_total: ['dialect', 'upstream_dialect', 'field'],
  sluice_streams_open: ['worker'],
  sluice_sockets_open: ['worker'],
  sluice_in_flight: ['worker'],
  sluice_body_bytes_held: ['worker'],
  sluice_budget_remaining: ['budget', 'currency'],
  sluice_budget_reserved: ['budget', 'currency'],
  sluice_ledger_lag_seconds: [],
  sluice_ledger_ring: ['worker'],
  sluice_ledger_spool_bytes: [],
  sluice_ledger_lost_total: [],
  sluice_store_up: [],
  sluice_state_up: [],
  sluice_control_restarts_total: [],
  sluice_keys_cached: ['worker'],
  sluice_loop_delay_seconds: ['worker', 'quantile'],
  sluice_gc_seconds_total: ['worker'],
  process_resident_memory_bytes: ['worker'],
  process_cpu_seconds_total: ['worker'],
  sluice_config_info: ['hash', 'version'],
  sluice_config_reloads_total: ['outcome'],
}

test("metrics measure queues, gaps in streams, and the gateway's own time", async () => {
  const streams = await Promise.all([1, 2].map(() => ask(gateway.url, FILE_KEY, 'slow', { stream: true })))
  await untilIs('sluice_target_in_flight{target="narrow/sim-80-20ms"}', 1)
  for (const stream of streams) await stream.text()
  await untilIs('sluice_stream_gap_seconds_count{model="slow",target="narrow/sim-80-20ms"}', 2)
  await untilIs('sluice_queue_seconds_count{target="narrow/sim-80-20ms",outcome="ok"}', 1)
  await untilIs('sluice_target_in_flight{target="narrow/sim-80-20ms"}', 0)
  const text = await page()
  // An event comes every 20 ms, and the second stream waited for the first.
  expect(figureOf(text, 'sluice_stream_gap_seconds_sum{model="slow",target="narrow/sim-80-20ms"}')).toBeGreaterThan(0.02)
  expect(figureOf(text, 'sluice_queue_seconds_sum{target="narrow/sim-80-20ms",outcome="ok"}')).toBeGreaterThan(1)
  const labels = 'route="chat",dialect="chat",upstream_dialect="chat"'
  expect(figureOf(text, `sluice_overhead_seconds_count{${labels}}`)).toBe(2)
  // The time in the queue is in another metric.
  expect(figureOf(text, `sluice_overhead_seconds_sum{${labels}}`)).toBeLessThan(1)
})

test('refusals are counted by their reason, and dropped fields by their name', async () => {
  expect((await ask(gateway.url, FILE_KEY, 'no such model')).status).toBe(404)
  expect((await ask(gateway.url, 'no such key', 'sim')).status).toBe(401)
  expect((await ask(gateway.url, FILE_KEY, 'sim', { messages: 'Hi' })).status).toBe(400)
  for (const reason of ['model', 'parameter']) await untilIs(`sluice_refused_total{reason="${reason}",group="default"}`, 1)
  await untilIs('sluice_refused_total{reason="key",group="none"}', 1)
  const asked = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': FILE_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim', max_tokens: 9, top_k: 3, made_up: 1, messages: [{ role: 'user', content: 'Hi' }] }),
  })
  expect([asked.status, asked.headers.get('x-sluice-dropped')]).toEqual([200, 'top_k, made_up'])
  const labels = 'dialect="messages",upstream_dialect="chat"'
  for (const field of ['top_k', 'other']) await untilIs(`sluice_dropped_fields_total{${labels},field="${field}"}`, 1)
  expect(await page()).not.toContain('made_up')
})

test('who leaves before the first attempt was not refused', async () => {
  const first = await ask(gateway.url, FILE_KEY, 'slow', { stream: true })
  const leaving = new AbortController()
  const second = ask(gateway.url, FILE_KEY, 'slow', { stream: true }, {}, leaving.signal)
  await until(page, text => /^sluice_in_flight\{.*\} 2$/m.test(text))
  leaving.abort()
  await expect(second).rejects.toThrow()
  await until(page, text => /^sluice_requests_total\{.*ended="aborted"\} 1$/m.test(text))
  const refused = (await page()).split('\n').filter(line => line.startsWith('sluice_refused_total{'))
  expect(refused.filter(line => line.includes('reason="none"'))).toEqual([])
  await first.text()
})

test('metrics show an ejected target as down, and others as up', async () => {
  expect((await ask(gateway.url, FILE_KEY, 'broken')).status).not.toBe(200)
  await untilIs('sluice_target_up{target="bad/sim-error-500"}', 0)
  expect(figureOf(await page(), 'sluice_target_up{target="narrow/sim-80-20ms"}')).toBe(1)
})

test('metrics count reloads of the configuration by outcome', async () => {
  const file = join(gateway.folder, 'gateway.yaml')
  const good = readFileSync(file, 'utf8')
  writeFileSync(file, good.replace('max_requests: 1', 'max_requests: many'))
  await untilIs('sluice_config_reloads_total{outcome="refused"}', 1)
  writeFileSync(file, good.replace('max_requests: 1', 'max_requests: 2'))
  await untilIs('sluice_config_reloads_total{outcome="taken"}', 1)
  // What the control process was started with stays; the log says so.
  writeFileSync(file, `${good}ledger: { keep: 30d }\nkept: { for: 1h }\nseal: [a-secret-of-some-length-for-tests]\n`)
  await untilIs('sluice_config_reloads_total{outcome="taken"}', 2)
  const told = async (): Promise<string | undefined> => gateway.log.find(one => one.includes('take effect at the next start'))
  expect(JSON.parse((await until(told, line => line !== undefined)) ?? '{}')).toMatchObject({ settings: ['ledger', 'kept', 'seal'] })
})

test('every metric of the list exists, with exactly its labels', async () => {
  const attempts = 'sluice_attempts_total{target="up/sim",outcome="ok"}'
  const before = figureOf(await page(), attempts) ?? 0
  expect((await ask(gateway.url, FILE_KEY, 'sim', { max_tokens: 9 })).status).toBe(200)
  await untilIs(attempts, before + 1)
  const found: Record<string, Set<string>> = {}
  const text = await until(page, one => one.includes('sluice_budget_reserved{'))
  for (const name of text.matchAll(/^# TYPE (\S+)/gm)) found[name[1] as string] = new Set()
  for (const [, series, labels] of text.matchAll(/^(\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? /gm)) {
    const name = Object.hasOwn(found, series as string) ? (series as string) : undefined
    for (const [, label] of (labels ?? '').matchAll(/(\w+)="/g)) if (label !== 'le' && name) found[name]?.add(label as string)
  }
  expect(Object.keys(found).sort()).toEqual(Object.keys(METRICS).sort())
  const docs = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'operating.md'), 'utf8')
  const documented = [...docs.matchAll(/`((?:sluice|process)_\w+)`/g)].map(([, name]) => name as string)
  expect(documented.sort()).toEqual(Object.keys(METRICS).sort())
  for (const [name, labels] of Object.entries(METRICS))
    if (found[name]?.size) expect([name, [...(found[name] as Set<string>)].sort()]).toEqual([name, [...labels].sort()])
})

test('a page of OpenMetrics names an exchange for each duration, and leaves the other page as it was', async () => {
  const attempts = 'sluice_attempts_total{target="up/sim",outcome="ok"}'
  const before = figureOf(await page(), attempts) ?? 0
  const asked = await ask(gateway.url, FILE_KEY, 'sim', { max_tokens: 9 })
  await untilIs(attempts, before + 1)
  const answer = await pageOf(gateway, `${OPEN};q=0.9,text/plain;version=0.0.4;q=0.5`)
  const text = await answer.text()
  expect(answer.headers.get('content-type')).toBe(OPEN)
  expect(text).toMatch(/\n# TYPE sluice_requests counter\n(#.*\n)*sluice_requests_total\{/)
  expect(text).toMatch(/\n# EOF\n$/)
  const examples = [...text.matchAll(/^(\w+)_bucket\{.*\} \d+ # \{request_id="([^"]+)"\} [\d.e-]+ [\d.]+$/gm)]
  for (const name of ['sluice_request_seconds', 'sluice_overhead_seconds'])
    expect(examples.filter(([, metric]) => metric === name).map(([, , id]) => id)).toContain(asked.headers.get('x-request-id'))
  expect(await page()).toMatch(/\n# TYPE sluice_requests_total counter\nsluice_requests_total\{/)
})

test('metrics and labels that are left out are not there, and series without a label are added up', async () => {
  const other = await stage.start({
    admin: { listen: '127.0.0.1:0' },
    upstreams: { up: { provider: 'openai', base: stage.simulator.url, secret: 'none' } },
    models: { sim: { targets: [{ upstream: 'up' }] }, broken: { targets: [{ upstream: 'up', model: 'sim-error-500' }] } },
    metrics: { without: ['sluice_request_seconds', 'sluice_in_flight', 'sluice_attempts_total.outcome', 'sluice_attempts_total.target'] },
  })
  expect((await ask(other.url, FILE_KEY, 'sim', { max_tokens: 9 })).status).toBe(200)
  expect((await ask(other.url, FILE_KEY, 'broken')).status).not.toBe(200)
  const text = await until(
    async () => (await pageOf(other)).text(),
    one => figureOf(one, 'sluice_attempts_total') === 2,
  )
  expect(figureOf(text, 'sluice_attempts_total')).toBe(2)
  expect(text).not.toMatch(/sluice_request_seconds|sluice_in_flight/)
  expect(text).toMatch(/sluice_requests_total\{.*status="200"/)
})
