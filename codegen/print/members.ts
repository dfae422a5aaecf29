// Places of members, as YAML writes them and as the engine reads them.

import type { Member, StreamFlag } from '../../engine/plan.js'
import { snakeOf } from '../compile/normalise.js'
import type { FormatData } from '../read/project.js'

/** The member that asks for a stream, and whether there is one where it is absent. */
export function flagOf(flag: NonNullable<NonNullable<FormatData['stream']>['flag']>): StreamFlag {
  return typeof flag === 'string' ? memberOf(flag) : { ...memberOf(flag.member), ...(flag.default === true && { isDefault: true }) }
}

/** `body.stream` as a place; the grammar knows where one can be. */
export function memberOf(text: string): Member {
  const [from, ...path] = text.split('.')
  return { from: from as Member['from'], path }
}

/** `data[].id` as the names of members, where `[]` stands for each element. */
export function pathOf(text: string): string[] {
  return text.split('.').flatMap(part => (part.endsWith('[]') ? [part.slice(0, -2), '[]'] : [part]))
}

/** A path, and all others that mean the same where each name may be written in snake case, too. */
export function spellingsOf(path: readonly string[]): string[][] {
  return path.reduce<string[][]>(
    (found, name) => [...new Set([name, snakeOf(name)])].flatMap(written => found.map(before => [...before, written])),
    [[]],
  )
}

/** One, several or none as a list. */
export function list(value: string | string[] | undefined): string[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value]
}
