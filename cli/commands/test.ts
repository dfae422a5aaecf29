// `sluice test [FOLDER]`

import { type Command, InvalidArgumentError } from 'commander'
import { served } from '../platform.js'

interface Options {
  all?: boolean
  mapping?: string[]
  properties?: number | true
  seed?: number
  record?: boolean
  input: string
  curl?: string
  path?: string
  key?: string
  name?: string
  json?: boolean
}

const USUAL_RUNS = 200

function counted(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is a whole number.')
  return Number(text)
}

export function addTest(program: Command): void {
  program
    .command('test')
    .description(
      'run the cases of the mappings in a folder, compiled and by the interpreter, and its exchanges and scenarios through a gateway',
    )
    .argument('[folder]', 'the folder of gateway.yaml, or of routes, schemas, mappings and providers', '.')
    .option('--all', 'also run the built-in cases')
    .option('--mapping <names...>', 'run only mappings whose name contains one of these')
    .option('--properties [runs]', 'try each mapping of the folder with random values of its schemas, 200 of each kind by default', counted)
    .option('--seed <number>', 'with --properties: which random values', counted)
    .option('--record', 'send one request to its provider, and record the exchange as a case, with secrets and ids masked')
    .option('--input <file>', 'with --record: the request, as `explain` takes it; - is stdin', '-')
    .option('--curl <command>', 'with --record: the request as a curl command')
    .option('--path <path>', 'with --record: the path for a request given as a body only')
    .option('--key <name>', 'with --record: the name of a configured key')
    .option('--name <sentence>', 'with --record: what the case shows')
    .option('--json', 'print one JSON document')
    .action(async (folder: string, options: Options) => {
      const { runCommand } = await import('../output.js')
      if (options.record) {
        const { record } = await served(import('../cases/record.js'))
        return runCommand(options, () => record(folder, options))
      }
      const { testFolder } = await import('../cases/test.js')
      const { properties, ...others } = options
      const runs = properties === true ? USUAL_RUNS : properties
      await runCommand(options, () => testFolder(folder, { ...others, ...(runs !== undefined && { properties: runs }) }))
    })
}
