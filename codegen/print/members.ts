// Paths of members: from YAML's notation to the engine's form.

import type { Member, StreamFlag } from '../../engine/plan.js'
import type { FormatData } from '../read/project.js'
import { snakeOf } from '../read/schemas.js'

/** The member that asks for a stream, and whether the answer streams without it. */
export function flagOf(flag: NonNullable<NonNullable<FormatData['stream']>['flag']>): StreamFlag {
  return typeof flag === 'string' ? memberOf(flag) : { ...memberOf(flag.member), ...(flag.default === true && { isDefault: true }) }
}

/** `body.stream` as a Member; the grammar restricts the paths. */
export function memberOf(text: string): Member {
  const [from, ...path] = text.split('.')
  return { from: from as Member['from'], path }
}

/** `data[].id` as the names of members, where `[]` stands for each element. */
export function pathOf(text: string): string[] {
  return text.split('.').flatMap(part => (part.endsWith('[]') ? [part.slice(0, -2), '[]'] : [part]))
}

/** All spellings of a path in which each name may be written in snake case, too. */
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
