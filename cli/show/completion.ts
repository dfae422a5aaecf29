// Shell completion, generated from the commands. Words that are neither an option nor a listed value are files.

import type { Command } from 'commander'

interface Spec {
  /** The words behind `sluice`, such as `check` or `keys list`. */
  path: string
  description: string
  /** Subcommands and values of arguments. */
  words: { word: string; description: string }[]
  options: { flags: string[]; description: string; takesValue: boolean }[]
}

/** A script for a shell. */
export function completionFor(program: Command, shell: 'bash' | 'zsh' | 'fish'): string {
  const specs = specsOf(program, [])
  if (shell === 'fish') return fish(specs)
  return shell === 'bash' ? bash(specs) : `#compdef sluice\nautoload -U +X bashcompinit && bashcompinit\n${bash(specs)}`
}

function specsOf(command: Command, path: readonly string[]): Spec[] {
  const commands = command.createHelp().visibleCommands(command)
  const spec: Spec = {
    path: path.join(' '),
    description: command.description(),
    words: [
      ...commands.map(one => ({ word: one.name(), description: one.description() })),
      ...command.registeredArguments.flatMap(one => (one.argChoices ?? []).map(word => ({ word, description: one.description }))),
    ],
    options: [
      ...command.options.map(one => ({
        flags: [one.short, one.long].filter(flag => flag !== undefined),
        description: one.description,
        takesValue: one.required || one.optional,
      })),
      { flags: ['-h', '--help'], description: 'display help', takesValue: false },
    ],
  }
  return [spec, ...commands.flatMap(one => specsOf(one, [...path, one.name()]))]
}

function bash(specs: readonly Spec[]): string {
  const branch = ({ path, words, options }: Spec): string =>
    `    '${path}') words='${[...words.map(({ word }) => word), ...options.flatMap(({ flags }) => flags.filter(flag => flag.startsWith('--')))].join(' ')}' ;;`
  const paths = specs.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`)
  return `_sluice() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' words='' next
  local index
  for ((index = 1; index < COMP_CWORD; index++)); do
    next="\${path:+$path }\${COMP_WORDS[index]}"
    case "$next" in
      ${paths.join(' | ')}) path="$next" ;;
    esac
  done
  case "$path" in
${specs.map(branch).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ \${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _sluice sluice`
}

function fish(specs: readonly Spec[]): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines: string[] = []
  for (const { path, words, options } of specs) {
    const known = path.split(' ').filter(word => word !== '')
    const condition = known.length === 0 ? '__fish_use_subcommand' : known.map(word => `__fish_seen_subcommand_from ${word}`).join('; and ')
    for (const { word, description } of words)
      lines.push(`complete -c sluice -n ${quoted(condition)} -a ${quoted(word)} -d ${quoted(description)}`)
    for (const { flags, description, takesValue } of options) {
      const names = flags.map(flag => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
      lines.push(`complete -c sluice -n ${quoted(condition)} ${names.join(' ')}${takesValue ? ' -r' : ''} -d ${quoted(description)}`)
    }
  }
  return lines.join('\n')
}
