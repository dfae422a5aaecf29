#!/usr/bin/env -S node --max-semi-space-size=32
// The commands. Each loads only what it needs, so that starting stays quick. What flags.ts says stands in the first line,
// too, where that is read.

import { Argument, Command, CommanderError, InvalidArgumentError } from 'commander'
import { addCheck } from './commands/check.js'
import { addCompletion } from './commands/completion.js'
import { addDiff } from './commands/diff.js'
import { addExplain } from './commands/explain.js'
import { addFields } from './commands/fields.js'
import { addImport } from './commands/import.js'
import { addInit } from './commands/init.js'
import { addNew } from './commands/new.js'
import { addOpenapi } from './commands/openapi.js'
import { addReference } from './commands/reference.js'
import { addRoutes } from './commands/routes.js'
import { addTest } from './commands/test.js'
import { addTry } from './commands/try.js'
import { addUse } from './commands/use.js'
import { EXIT } from './exit-codes.js'
import { served } from './platform.js'
import { version } from './version.js'

const program = new Command('sluice').description('A declarative model gateway.').version(version())
// Said before the commands are made, which take it over.
program.exitOverride().showHelpAfterError('(--help lists what there is)')

/** Refuses what cannot be listened on, as a command line that is wrong. */
function addressOption(text: string): string {
  if (!/:\d{1,5}$/.test(text)) throw new InvalidArgumentError('write it as host:port.')
  return text
}

program
  .command('start')
  .description('start the gateway; where there is no gateway.yaml either, with the simulator as the provider')
  .option('--config <file>', "the operator's file (default: gateway.yaml, where it is there)")
  .option('--workers <count>', 'how many processes share the port')
  .option('--worker <port>', 'one of several processes on this port (used by --workers)')
  .action(async options => {
    const { handOver } = await import('./flags.js')
    if (!handOver()) await (await served(import('./start.js'))).start(options)
  })

addCheck(program)

program
  .command('simulate')
  .description('start a simulated provider, which answers as its model names and scenarios say')
  .option('--listen <address>', 'host:port', addressOption, '127.0.0.1:8090')
  .option('--scenarios <file>', 'a YAML file of scenarios')
  .action(async options => (await served(import('./simulate.js'))).simulate(options))

const models = program
  .command('models')
  .description('what is known of models: all of them, or one with the place of each fact')
  .argument('[name]', "the model's name at its provider")
  .option('--config <file>', "the operator's file, whose folder may hold models/ (default: gateway.yaml, where it is there)")
  .option('--provider <name>', 'the provider that has it')
  .option('--json', 'print one JSON document')
  .action(async (name, options) => (await served(import('./models/show.js'))).showModels(name, options))

models
  .command('check')
  .description('facts older than 90 days, and models whose retirement is near')
  .option('--config <file>', "the operator's file (default: gateway.yaml, where it is there)")
  .option('--json', 'print one JSON document')
  .action(async (_options, command) => (await served(import('./models/show.js'))).checkModels(command.optsWithGlobals()))

models
  .command('sources')
  .description("how much of the prices and limits stands on a page of the maker's, and how much in another table alone")
  .option('--config <file>', "the operator's file (default: gateway.yaml, where it is there)")
  .option('--provider <name>', 'the models of one, a line each')
  .option('--json', 'print one JSON document')
  .action(async (_options, command) => (await served(import('./models/sources.js'))).showSources(command.optsWithGlobals()))

models
  .command('import')
  .description("somebody else's table as files of models/: litellm, models.dev or openrouter")
  .addArgument(new Argument('<table>', 'whose').choices(['litellm', 'models.dev', 'openrouter']))
  .argument('<file>', 'the table, as JSON')
  .option('--out <folder>', 'where the files go (default: models/imported)')
  .option('--read <day>', 'the day on which the table was looked at (default: today)')
  .option('--source <text>', 'what the table is called')
  .option('--dry-run', 'tells what would change, and writes nothing')
  .option('--json', 'print one JSON document')
  .action(async (table, file, _options, command) =>
    (await import('./models/import.js')).importModels(table, file, command.optsWithGlobals()),
  )

program
  .command('faults')
  .description('ask every model in every dialect while its upstreams fail in every way, and judge what becomes of it')
  .option('--config <file>', "an operator's file in place of the built-in models; its upstreams are not asked")
  .option('--quick', 'each scenario with each client and each upstream, but not each of these with the other')
  .option('--only <text>', 'the cases alone that have this in their id')
  .option('--json', 'print one JSON document')
  .action(async options => (await served(import('./faults.js'))).faults(options))

const store = program.command('store').description('the database itself')
store
  .command('migrate')
  .description('bring the schema up to date, where `migrate: none` leaves that to you')
  .requiredOption('--config <file>', "the operator's file")
  .option('--json', 'print one JSON document')
  .action(async options => (await import('./store.js')).migrateStore(options.config, options.json))
store
  .command('backup <file>')
  .description('a copy of a store in SQLite, while it is in use')
  .requiredOption('--config <file>', "the operator's file")
  .option('--json', 'print one JSON document')
  .action(async (file, options) => (await import('./store.js')).backUpStore(file, options.config, options.json))
store
  .command('restore <file>')
  .description('put a copy in the place of the store, while no gateway runs; what was there is kept beside it')
  .requiredOption('--config <file>', "the operator's file")
  .option('--json', 'print one JSON document')
  .action(async (file, options) => (await import('./store.js')).restoreStore(file, options.config, options.json))

// What asks the admin API is loaded for those who do.
const ADMIN = ['keys', 'teams', 'budgets', 'usage', 'ledger', 'audit', 'token']
// These tell of all commands.
const ALL = ['completion', 'reference', 'help', '--help', '-h']
if (process.argv[2] === undefined || [...ADMIN, ...ALL].includes(process.argv[2]))
  (await import('./admin/commands.js')).addAdminCommands(program)
if (process.argv[2] === undefined || ['cost', ...ALL].includes(process.argv[2])) (await import('./cost.js')).addCost(program)

addTest(program)
addTry(program)
addExplain(program)
addRoutes(program)
addFields(program)
addOpenapi(program)
addDiff(program)
addInit(program)
addNew(program)
addImport(program)
addUse(program)
addCompletion(program)
addReference(program)

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has said what is wrong, or has shown the help that was asked for.
    process.exitCode = error.exitCode === 0 ? EXIT.good : EXIT.usage
  } else if (error instanceof Error && ['CommandError', 'DataError'].includes(error.constructor.name)) {
    // A message is whole sentences, or a line for each finding.
    console.error(error.message)
    process.exitCode = EXIT.findings
  } else throw error
}
