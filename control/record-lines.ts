// The lines of the access log that records ask for.

import { type Batch, type Column, columnOf, LINE, MIRROR, WIDTH } from '../engine/control/records.js'
import type { CallFacts } from '../engine/core/exchange.js'
import { round } from '../engine/core/log.js'
import type { Usage } from '../engine/plan.js'
import { accessLine, INFO } from './access-line.js'

const FLAGS = columnOf('flags')

type Unknown<Value> = { [Name in keyof Value]: Value[Name] | undefined }

/** The lines of a batch; empty: none of its records asks for one. */
export function linesOf(batch: Batch): string {
  let lines = ''
  for (let row = 0; row < batch.ids.length; row++) {
    if (((batch.numbers[row * WIDTH + FLAGS] as number) & LINE) !== 0) lines += lineOf(batch, row)
  }
  return lines
}

function lineOf({ ids, numbers, texts }: Batch, row: number): string {
  const number = (column: Column): number => numbers[row * WIDTH + columnOf(column)] as number
  const text = (column: Column): string | undefined => texts[number(column) - 1]
  const known = (column: Column): number | undefined => {
    const value = number(column)
    return Number.isNaN(value) ? undefined : value
  }
  const total = number('total')
  const usage: Unknown<Usage> = {
    input: known('input'),
    output: known('output'),
    cached: known('cached'),
    cacheWrite: known('cache_write'),
    reasoning: known('reasoning'),
    tier: text('tier'),
    region: text('served_in'),
  }
  const answered = known('answered')
  const upstream: Unknown<CallFacts> = {
    status: answered === 0 ? undefined : answered,
    request_id: text('request_id'),
    connect: round(known('connect')),
    headers: round(known('headers')),
    first_event: round(known('upstream')),
  }
  return accessLine({
    level: INFO,
    time: Math.round(number('at') + total),
    id: ids[row] as string,
    clientId: text('client_id'),
    route: text('route'),
    method: text('method'),
    path: text('path'),
    log: {
      key: text('key'),
      model: text('named'),
      target: text('target'),
      usage: Object.values(usage).some(value => value !== undefined) ? usage : undefined,
      isMirror: (number('flags') & MIRROR) !== 0 || undefined,
      firstByte: known('first_byte'),
      firstToken: known('first_token'),
      status: number('status'),
      attempts: number('attempts'),
      bytesIn: number('bytes_in'),
      bytesOut: number('bytes_out'),
    },
    cost: known('cost'),
    charge: known('charge'),
    total,
    upstream: answered === undefined ? undefined : upstream,
  })
}
