// `sluice test [FOLDER]`

import type { Command } from 'commander'
import { served } from '../platform.js'

interface Options {
  all?: boolean
  mapping?: string[]
  record?: boolean
  input: string
  curl?: string
  path?: string
  key?: string
  name?: string
  json?: boolean
}

export function addTest(program: Command): void {
  program
    .command('test')
    .description('run the cases of the mappings in a folder, compiled and by the interpreter, and its exchanges through a gateway')
    .argument('[folder]', 'the folder of gateway.yaml, or of routes, schemas, mappings and providers', '.')
    .option('--all', 'run the built-in cases, too')
    .option('--mapping <names...>', 'run only mappings whose name holds one of these')
    .option('--record', 'send one request to its provider, and write what becomes of it as a case, secrets and ids masked')
    .option('--input <file>', 'with --record: the request, as `explain` takes it; - is stdin', '-')
    .option('--curl <command>', 'with --record: the request as a curl command')
    .option('--path <path>', 'with --record: where a body goes that comes alone')
    .option('--key <name>', 'with --record: the name of a key of the file')
    .option('--name <sentence>', 'with --record: what the case shows')
    .option('--json', 'print one JSON document')
    .action(async (folder: string, options: Options) => {
      const { tell } = await import('../told.js')
      if (options.record) {
        const { record } = await served(import('../cases/record.js'))
        return tell(options, () => record(folder, options))
      }
      const { testFolder } = await import('../cases/test.js')
      await tell(options, () => testFolder(folder, options))
    })
}
