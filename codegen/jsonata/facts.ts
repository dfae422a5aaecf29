// What a condition tells of the values that it asks about, where it holds and where it does not. Values do not change, so
// that what is known of a name, or of a member of one, is known wherever its text stands again.

import { type Fact, type Facts, isChain, NULL, type Operand, UNDEF } from './types.js'

/** The fact of a value, if its text is one that can stand again. */
export function factOf(subject: Operand, fact: Fact): Facts | undefined {
  if (!isChain(subject)) return undefined
  return new Map([[subject.code, fact]])
}

/** What holds where both do. */
export function both(left: Facts | undefined, right: Facts | undefined): Facts | undefined {
  if (left === undefined || right === undefined) return left ?? right
  const facts = new Map(left)
  for (const [code, fact] of right) {
    const known = facts.get(code)
    facts.set(code, known ? { ...known, ...fact, bits: known.bits & fact.bits } : fact)
  }
  return facts
}

/** What a condition tells, as an operand has it. */
export function factsIn(is: Facts | undefined, isNot: Facts | undefined): Partial<Operand> {
  return { ...(is && { whereTrue: is }), ...(isNot && { whereFalse: isNot }) }
}

/** An operand with what is known of it here. */
export function told(operand: Operand, facts: Facts | undefined): Operand {
  const fact = facts?.get(operand.code)
  if (fact === undefined || (operand.bits & fact.bits) === 0) return operand
  const shape = fact.shape ?? operand.shape
  const bits = operand.bits & fact.bits
  return { ...operand, bits, ...(shape && { shape: shape.bits === bits ? shape : { ...shape, bits: shape.bits & fact.bits } }) }
}

/** What is known where a value counts as true. */
export function whereTrue(test: Operand): Facts | undefined {
  return both(test.whereTrue, factOf(test, { bits: ~(UNDEF | NULL) }))
}

/** What is known of the object of which a member equals a word that tells the branches of its union apart. */
export function branchOf(member: Operand, word: unknown): Facts | undefined {
  const { of, name } = member.member ?? {}
  const shape = of?.shape?.by === name ? of?.shape?.branches?.get(String(word)) : undefined
  return of && shape && typeof word === 'string' ? factOf(of, { bits: shape.bits, shape }) : undefined
}
