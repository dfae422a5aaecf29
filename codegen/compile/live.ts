// Finds the members of a reducer's state that something reads. The others need not be kept: a whole answer does not number events,
// and a stream does not gather what only the whole answer has.

import type { MappingStep as Step } from '../../schemas/config/types.js'
import { literalPairs, type Node } from '../jsonata/ast.js'
import { readsOfVariable } from '../jsonata/growth.js'
import { treeOf } from '../read/functions.js'
import type { Module } from './module.js'

/**
 * @param output the member of steps that has what they write
 * @param others expressions beside those of the steps
 * @returns undefined: perhaps all
 */
export function liveMembers(
  steps: readonly Step[],
  output: 'emit' | 'whole',
  others: readonly string[],
  { readsOf }: Module,
): ReadonlySet<string> | undefined {
  const live = new Set<string>()
  /** What a member's new values are made of. */
  const madeOf = new Map<string, Set<string>>()
  let isAll = false
  const note = (node: Node | undefined, into: Set<string>): void => {
    if (node === undefined) return
    for (const name of ['state', 'was']) {
      const reads = readsOfVariable(name, node, readsOf)
      if (reads === undefined) isAll = true
      else for (const read of reads) into.add(read)
    }
  }
  const visit = ({ when, for: list, fail, let: lets = {}, set, steps: inner = [], ...step }: Step): void => {
    for (const text of [when, list, fail, step[output], ...Object.values(lets)]) if (text !== undefined) note(treeOf(text), live)
    const node = set === undefined ? undefined : treeOf(set)
    const pairs = node && literalPairs(node)
    if (pairs === undefined) note(node, live)
    for (const [key, value] of pairs ?? []) {
      const known = madeOf.get(key) ?? new Set()
      madeOf.set(key, known)
      note(value, known)
    }
    for (const one of inner) visit(one)
  }
  for (const text of others) note(treeOf(text), live)
  for (const step of steps) visit(step)
  // A set visits what is added to it, too.
  for (const name of live) for (const read of madeOf.get(name) ?? []) live.add(read)
  return isAll ? undefined : live
}
