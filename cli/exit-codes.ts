// What a command's exit code says. docs/reference/cli.md has the same list, made of this one.

export const EXIT = {
  /** What was asked is done; there are no findings, or warnings alone. */
  good: 0,
  /** There are findings: in the configuration, its data, the cases, or the request. */
  findings: 1,
  /** The address cannot be listened on. */
  listen: 2,
  /** The server's library has no binary for this system. */
  platform: 3,
  /** The command line is wrong: an unknown option, a missing argument, a name that is not there. */
  usage: 64,
} as const

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.good, 'the command succeeded, without findings or with warnings only'],
  [EXIT.findings, 'there are findings: in the configuration, its data, the cases or the request'],
  [EXIT.listen, 'the address cannot be listened on'],
  [EXIT.platform, 'the server library has no binary for this system'],
  [EXIT.usage, 'the command line is wrong: an unknown option, a missing argument, an unknown name'],
]
