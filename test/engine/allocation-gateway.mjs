// A gateway in a process of its own that tells how much it has allocated: see allocation.test.ts.

import { PerformanceObserver } from 'node:perf_hooks'
import { argv } from 'node:process'
import pino from 'pino'
import { run } from '../../dist/cli/gateway.js'
import { prepare } from '../../dist/cli/prepare.js'

let collections = 0
new PerformanceObserver(list => {
  collections += list.getEntries().length
}).observe({ entryTypes: ['gc'] })

const { settings, snapshot } = await prepare(argv[2])
const gateway = await run({ settings, snapshot, log: pino({ level: 'info', base: null }, { write() {} }), isShared: false })

process.on('message', word => {
  if (word === 'collect') globalThis.gc()
  // The observer gets a collection a little later.
  setTimeout(() => {
    if (word === 'collect') collections = 0
    process.send({ heap: process.memoryUsage().heapUsed, collections })
  }, 50)
})
process.send({ url: gateway.url })
