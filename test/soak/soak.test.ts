// A quarter of a minute of the soak test, and a check that its clients detect lost, mixed-up and cut answers.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type * as PlanModule from '../../cli/plan.js'
import type * as SoakModule from './soak.js'
import type * as TrafficModule from './traffic.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '../../dist', path)).href
const { soak } = (await import(built('test/soak/soak.js'))) as typeof SoakModule
const { traffic } = (await import(built('test/soak/traffic.js'))) as typeof TrafficModule
const { loadPlan } = (await import(built('cli/plan.js'))) as typeof PlanModule

test('a quarter of a minute of traffic with faults, aborts and reloads: nothing is lost, crossed or left', async () => {
  const isEnough = ({ whole, aborted, broken }: TrafficModule.Counts): boolean => whole > 100 && aborted > 0 && broken > 0
  const { findings, counts, reloads } = await soak({ minutes: 0.25, isEnough })
  expect(findings).toEqual([])
  expect(counts.whole).toBeGreaterThan(100)
  expect(counts.aborted).toBeGreaterThan(0)
  expect(counts.broken).toBeGreaterThan(0)
  expect(reloads).toBeGreaterThan(0)
})

test.each<[string, number, string, RegExp]>([
  ["another's answer", 200, '{"choices": [], "text": "soak-0123456789abcdef"}', /holds soak-0123456789abcdef/],
  ['an answer to nobody', 200, 'data: {"choices": []}\n\n', /token is missing|no end|not whole/],
  ['a refusal without words', 502, 'Bad gateway', /without words/],
])('%s is found', async (_name, status, body, found) => {
  const server = createServer((request, response) => request.resume().on('end', () => response.writeHead(status).end(body)))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const run = traffic(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, await loadPlan(undefined), ['m'], 'key')
  await Promise.all(Array.from({ length: 20 }, () => run.one(true)))
  run.close()
  server.closeAllConnections()
  server.close()
  expect(run.counts.whole).toBe(0)
  expect(run.counts.wrong.join('\n')).toMatch(found)
})
