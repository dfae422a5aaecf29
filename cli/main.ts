#!/usr/bin/env -S node --max-semi-space-size=32 --initial-old-space-size=128
// The commands. Each loads only the modules that it needs, so that starting stays quick. The first line repeats the flags
// of flags.ts, where the system reads them.

import { Argument, Command, CommanderError, InvalidArgumentError } from 'commander'
import { ignoreDebugger } from '../control/debugger.js'
import { isPort } from './address.js'
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
// Set before the commands are created, because they copy it.
program.exitOverride().showHelpAfterError('(--help lists them)')

/** Refuses an address that cannot be listened on as a wrong command line. */
function addressOption(text: string): string {
  const [, port] = /:(\d+)$/.exec(text) ?? []
  if (port === undefined || !isPort(port)) throw new InvalidArgumentError('write it as host:port, with a port up to 65535.')
  return text
}

program
  .command('start')
  .description('start the gateway; without a gateway.yaml, with the simulator as provider')
  .option('--config <file>', 'the configuration (default: gateway.yaml if it exists)')
  .option('--workers <count>', 'number of processes that share the port')
  .option('--worker <port>', 'one of several processes on this port (used by --workers)')
  .action(async options => {
    ignoreDebugger()
    const { restartWithFlags } = await import('./flags.js')
    if (!restartWithFlags()) await (await served(import('./start.js'))).start(options)
  })

addCheck(program)

program
  .command('simulate')
  .description('start a simulated provider, whose model names and scenarios define its answers')
  .option('--listen <address>', 'host:port', addressOption, '127.0.0.1:8090')
  .option('--scenarios <file>', 'a YAML file of scenarios')
  .action(async options => {
    ignoreDebugger()
    await (await served(import('./simulate.js'))).simulate(options)
  })

const models = program
  .command('models')
  .description('show the known models: all of them, or one with the source of each fact')
  .argument('[name]', "the model's name at its provider")
  .option('--config <file>', 'the configuration, whose folder may have models/ (default: gateway.yaml if it exists)')
  .option('--provider <name>', 'its provider')
  .option('--json', 'print one JSON document')
  .action(async (name, options) => (await served(import('./models/show.js'))).showModels(name, options))

models
  .command('check')
  .description('list facts older than 90 days, and models close to retirement')
  .option('--config <file>', 'the configuration (default: gateway.yaml if it exists)')
  .option('--json', 'print one JSON document')
  .action(async (_options, command) => (await served(import('./models/show.js'))).checkModels(command.optsWithGlobals()))

models
  .command('version')
  .description('show the release of the catalogue')
  .option('--config <file>', 'the configuration (default: gateway.yaml if it exists)')
  .option('--json', 'print one JSON document')
  .action(async (_options, command) => (await served(import('./models/release.js'))).showVersion(command.optsWithGlobals()))

models
  .command('sources')
  .description('count how many prices and limits come from a page of the maker, and how many only from a table')
  .option('--config <file>', 'the configuration (default: gateway.yaml if it exists)')
  .option('--provider <name>', 'list the models of one provider')
  .option('--json', 'print one JSON document')
  .action(async (_options, command) => (await served(import('./models/sources.js'))).showSources(command.optsWithGlobals()))

models
  .command('import')
  .description('convert a table of litellm, models.dev or openrouter to files of models/')
  .addArgument(new Argument('<table>', 'whose').choices(['litellm', 'models.dev', 'openrouter']))
  .argument('<file>', 'the table, as JSON')
  .option('--out <folder>', 'the output folder (default: models/imported)')
  .option('--read <day>', 'the day on which the table was read (default: today)')
  .option('--source <text>', 'the name of the table')
  .option('--dry-run', 'print the changes, but write nothing')
  .option('--json', 'print one JSON document')
  .action(async (table, file, _options, command) =>
    (await import('./models/import.js')).importModels(table, file, command.optsWithGlobals()),
  )

program
  .command('faults')
  .description('call every model in every dialect while its upstreams fail in every way, and judge the answers')
  .option('--config <file>', 'a configuration in place of the built-in models; its upstreams are not called')
  .option('--quick', 'pairs of scenario and client, and of scenario and upstream, but not every combination')
  .option('--only <text>', 'only the cases with this in their id')
  .option('--json', 'print one JSON document')
  .action(async options => (await served(import('./faults.js'))).faults(options))

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

const store = program.command('store').description('manage the database')
store
  .command('migrate')
  .description('bring the schema up to date, if `migrate: none` leaves that to you')
  .option('--config <file>', 'the configuration with the store', 'gateway.yaml')
  .option('--json', 'print one JSON document')
  .action(async options => (await import('./store.js')).migrateStore(options.config, options.json))
store
  .command('backup <file>')
  .description('copy a SQLite store while it is in use')
  .option('--config <file>', 'the configuration with the store', 'gateway.yaml')
  .option('--json', 'print one JSON document')
  .action(async (file, options) => (await import('./store.js')).backUpStore(file, options.config, options.json))
store
  .command('restore <file>')
  .description('replace the store by a copy while no gateway runs; the old store is kept beside it')
  .option('--config <file>', 'the configuration with the store', 'gateway.yaml')
  .option('--json', 'print one JSON document')
  .action(async (file, options) => (await import('./store.js')).restoreStore(file, options.config, options.json))

// The admin client is loaded only for its own commands, and for what needs the list of all: help, and a suggestion for a mistyped name.
const ADMIN = ['keys', 'teams', 'budgets', 'usage', 'ledger', 'audit', 'instances', 'token']
const [name = 'help'] = process.argv.slice(2)
const isElsewhere = !program.commands.some(command => command.name() === name)
if (isElsewhere && name !== 'cost') (await import('./admin/commands.js')).addAdminCommands(program)
if (isElsewhere && !ADMIN.includes(name)) (await import('./cost.js')).addCost(program)

addCompletion(program)
addReference(program)

// Who reads no further, such as `head`, wants no more.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.good)
  console.error(`The output cannot be written: ${error.code ?? error.message}.`)
  process.exit(EXIT.findings)
})

try {
  await program.parseAsync()
} catch (error) {
  const asJson = process.argv.includes('--json')
  const { documentOf, reportFailure } = await import('./output.js')
  if (error instanceof CommanderError) {
    // Commander has already reported the error, or shown the requested help.
    process.exitCode = error.exitCode === 0 ? EXIT.good : EXIT.usage
    if (asJson && error.exitCode !== 0) console.log(documentOf(false, [], { error: error.message.replace(/^error: /, '') }))
  } else process.exitCode = reportFailure(error, asJson)
}
