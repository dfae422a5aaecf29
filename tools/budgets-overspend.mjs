// Measures how far a budget is overspent, and how much of it is used before the first refusal: `npm run budgets:overspend`. 200 streams at
// once against a limit that covers a tenth of them, on two instances with two workers each and one Postgres, and on one instance
// with two workers and SQLite. Exits with 1 if the bound of docs/budgets.md, or the 95 %, does not hold.

import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startSimulator } from '../dist/cli/simulator/server.js'
import { startGateway } from './gateway.mjs'
import { hasPostgres, startPostgres } from './postgres.mjs'

const STREAMS = 200
const WORDS = 200
const PACE = 50
const MODEL = `sim-${WORDS}-${PACE}ms`
const KEY = 'key-of-the-file'
/** Nano-units for a token. */
const INPUT = 1_000
const OUTPUT = 5_000
/** Seconds from the last reserved token to the end of the call, as docs/budgets.md assumes them. */
const CANCEL = 0.35

const simulator = await startSimulator({})
const root = mkdtempSync(join(tmpdir(), 'sluice-o-'))
const start = (name, store, budget) =>
  startGateway(join(root, name), {
    store,
    workers: 2,
    keys: [
      { name: 'all', value: KEY, ...(budget && { budget }) },
      { name: 'one', value: 'another-key' },
    ],
    upstreams: { up: { provider: 'openai', base: simulator.url, secret: 'none' } },
    models: { [MODEL]: { targets: [{ upstream: 'up' }], price: { input: INPUT / 1_000, output: OUTPUT / 1_000 } } },
  })

const agent = new Agent({ keepAlive: false })

/** Requests a stream; reports each word that arrives, and how the stream ended. */
function stream(url, key, onWord) {
  const body = JSON.stringify({ model: MODEL, stream: true, messages: [{ role: 'user', content: 'Say two hundred words.' }] })
  return new Promise((done, fail) => {
    const asked = request(
      `${url}/v1/chat/completions`,
      { agent, method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' } },
      response => {
        let text = ''
        response.on('data', part => {
          text += part
          for (const _ of String(part).matchAll(/"content":"[^"]/g)) onWord?.()
        })
        response.on('end', () =>
          done({ status: response.statusCode, isRefused: text.includes('"error"'), isWhole: text.includes('[DONE]') }),
        )
      },
    )
    asked.on('error', fail)
    asked.end(body)
  })
}

async function measure(name, instances, probe) {
  // The cost of one stream, as the provider counts it.
  await stream(probe.url, 'another-key')
  let row
  while (row === undefined) {
    const { exchanges } = await probe.admin('/exchanges?key=one')
    row = exchanges?.[0]
    await sleep(20)
  }
  const all = row.charge * STREAMS
  const limit = Math.round(all / 10)
  const running = []
  for (const [index, begin] of instances.entries()) running.push(await begin(`${name}-${index}`, `${(limit / 1e9).toFixed(9)}/ever`))
  let words = 0
  let atRefusal
  const noteRefusal = async () => {
    if (atRefusal) return
    atRefusal = { words, out: undefined }
    const { budgets } = await running[0].admin('/budgets')
    atRefusal.out = budgets.find(one => one.budget.startsWith('key:all'))?.out
  }
  const ends = await Promise.all(
    Array.from({ length: STREAMS }, async (_, index) => {
      const end = await stream(running[index % running.length].url, KEY, () => words++)
      // 503 says nothing about the budget: the machine was too busy to answer in time.
      if (end.isRefused && end.status !== 503) await noteRefusal()
      return end
    }),
  )
  const refused = ends.filter(end => end.status !== 200).length
  const began = STREAMS - refused
  const away = ends.filter(end => end.status === 503).length
  const cut = ends.filter(end => end.status === 200 && end.isRefused).length
  let account
  let found
  do {
    await sleep(50)
    account = (await running[0].admin('/budgets')).budgets.find(one => one.budget.startsWith('key:all'))
    found = await running[0].admin('/ledger/verify')
  } while (found.rows < STREAMS || Object.keys(found.differences).length > 0)
  for (let last = -1; last !== account.spent; ) {
    last = account.spent
    await sleep(300)
    account = (await running[0].admin('/budgets')).budgets.find(one => one.budget.startsWith('key:all'))
  }
  const perWord = (row.output / WORDS) * OUTPUT
  const byProvider = Math.round(began * row.input * INPUT + words * perWord)
  const bound = Math.ceil(began * ((CANCEL * 1_000) / PACE + 1) * OUTPUT)
  const over = Math.max(0, account.spent - limit)
  const used = atRefusal.out / limit
  const money = nano => `${(nano / 1e9).toFixed(6)} USD`
  console.log(`${name}: limit ${money(limit)}, a tenth of ${money(all)} for ${STREAMS} streams`)
  console.log(
    `  ${refused} refused before they began${away > 0 ? ` (${away} with 503, because the machine was too busy)` : ''}, ${cut} ended early, ${began - cut} whole`,
  )
  console.log(
    `  spent ${money(account.spent)} (${((account.spent / limit) * 100).toFixed(1)} %); relayed words as the provider counts them: ${money(byProvider)}`,
  )
  console.log(`  overspend ${money(over)}, bound ${money(bound)}: ${over <= bound ? 'holds' : 'BROKEN'}`)
  console.log(
    `  granted at the first refusal: ${(used * 100).toFixed(1)} %: ${used >= 0.95 ? 'holds' : 'BROKEN'} (relayed by then: ${atRefusal.words} words)`,
  )
  await Promise.all(running.map(one => one.stop()))
  if (over > bound || used < 0.95) process.exitCode = 1
}

try {
  const probe = await start('probe', 'sqlite')
  await measure('SQLite, one instance, two workers', [(name, budget) => start(name, 'sqlite', budget)], probe)
  if (hasPostgres) {
    const postgres = await startPostgres()
    const at = await postgres.database()
    const begin = (name, budget) => start(name, { at }, budget)
    await measure('Postgres, two instances, two workers each', [begin, begin], probe)
    await postgres.close()
  } else console.log('Postgres: its binaries were not found')
  await probe.stop()
} finally {
  await simulator.close()
  rmSync(root, { recursive: true, force: true })
}
process.exit()
