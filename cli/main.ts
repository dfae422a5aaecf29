#!/usr/bin/env -S node --max-semi-space-size=32
// The commands. Each loads only what it needs, so that starting stays quick. What flags.ts says stands in the first line,
// too, where that is read.

import { Command } from 'commander'
import { served } from './platform.js'

const program = new Command('sluice').description('A declarative model gateway.')

program
  .command('start')
  .description('start the gateway; without --config it uses embedded defaults, with the simulator as the provider')
  .option('--config <file>', "the operator's file")
  .option('--workers <count>', 'how many processes share the port')
  .option('--worker <port>', 'one of several processes on this port (used by --workers)')
  .action(async options => {
    const { handOver } = await import('./flags.js')
    if (!handOver()) await (await served(import('./start.js'))).start(options)
  })

program
  .command('check')
  .description("check an operator's file and the folders beside it")
  .requiredOption('--config <file>', "the operator's file")
  .action(async options => (await served(import('./check.js'))).check(options.config))

program
  .command('simulate')
  .description('start a simulated provider, which answers as its model names and scenarios say')
  .option('--listen <address>', 'host:port', '127.0.0.1:8090')
  .option('--scenarios <file>', 'a YAML file of scenarios')
  .action(async options => (await served(import('./simulate.js'))).simulate(options))

program
  .command('faults')
  .description('ask every model in every dialect while its upstreams fail in every way, and judge what becomes of it')
  .option('--config <file>', "an operator's file in place of the built-in models; its upstreams are not asked")
  .option('--quick', 'each scenario with each client and each upstream, but not each of these with the other')
  .option('--only <text>', 'the cases alone that have this in their id')
  .action(async options => (await served(import('./faults.js'))).faults(options))

await program.parseAsync()
