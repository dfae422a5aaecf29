// The exit codes of commands. docs/reference/cli.md lists them from here.

export const EXIT = {
  /** The command succeeded, without findings or with warnings only. */
  good: 0,
  /** There are findings: in the configuration, its data, the cases, or the request. */
  findings: 1,
  /** The address cannot be listened on. */
  listen: 2,
  /** Nothing can be served: the server library has no binary for this system, or the workers end. */
  platform: 3,
  /** The command line is wrong: an unknown option, a missing argument, an unknown name, an input file that cannot be read. */
  usage: 64,
} as const

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.good, 'the command succeeded, without findings or with warnings only'],
  [EXIT.findings, 'findings in the configuration, its data, the cases or the request; or the command failed'],
  [EXIT.listen, 'the address cannot be listened on'],
  [
    EXIT.platform,
    'nothing can be served: the server library has no binary for this system, all workers keep ending before they serve, or one was killed before all served',
  ],
  [EXIT.usage, 'the command line is wrong: an unknown option, a missing argument, an unknown name, an input file that cannot be read'],
]
