// `sluice try MAPPING request|response|stream < input`

import { Argument, type Command } from 'commander'

interface Options {
  folder: string
  input: string
  request?: string
  ctx?: string
  watch?: boolean
  json?: boolean
}

export function addTry(program: Command): void {
  program
    .command('try')
    .description('run a mapping on one request, answer or stream, and show the result, dropped fields and steps')
    .argument('<mapping>', '<client>-to-<upstream>, such as chat-to-messages')
    .addArgument(new Argument('<part>', 'what').choices(['request', 'response', 'stream']))
    .option('--folder <folder>', 'the folder of gateway.yaml', '.')
    .option('--input <file>', 'JSON, YAML, or server-sent events; - is stdin', '-')
    .option('--request <file>', "the client's request, for values that are carried to the answer")
    .option('--ctx <members>', 'members of $ctx, as JSON')
    .option('--watch', 'run again whenever a file of the folder, or the input file, changes')
    .option('--json', 'print one JSON document')
    .action(async (mapping: string, part: 'request' | 'response' | 'stream', options: Options) => {
      const [{ runCommand }, { tryMapping }] = await Promise.all([import('../output.js'), import('../cases/try.js')])
      if (!options.watch) return runCommand(options, () => tryMapping(mapping, part, options))
      if (options.input === '-') {
        // Commander's own way to report a wrong command line.
        program.error('error: --watch needs a file: --input request.json')
      }
      const { runOnChange } = await import('../cases/watch.js')
      const others = [options.input, ...(options.request === undefined ? [] : [options.request])]
      await runOnChange(options.folder, others, async () => {
        process.exitCode = 0
        await runCommand(options, () => tryMapping(mapping, part, options))
        if (!options.json) console.log(`--- ${new Date().toLocaleTimeString('en-GB')}`)
      })
    })
}
