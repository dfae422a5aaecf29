// Facts that follow from a condition, in its branch and in the other one. Values do not change, so a fact about a name, or
// about a member of one, holds wherever its text occurs again.

import { type Fact, type Facts, isChain, NULL, type Operand, UNDEF } from './types.js'

/** A fact about a value, if its text can occur again. */
export function factOf(subject: Operand, fact: Fact): Facts | undefined {
  if (!isChain(subject)) return undefined
  return new Map([[subject.code, fact]])
}

/** The facts of two conditions that both hold. */
export function both(left: Facts | undefined, right: Facts | undefined): Facts | undefined {
  if (left === undefined || right === undefined) return left ?? right
  const facts = new Map(left)
  for (const [code, fact] of right) {
    const known = facts.get(code)
    facts.set(code, known ? { ...known, ...fact, bits: known.bits & fact.bits } : fact)
  }
  return facts
}

/** The facts of a condition, in an operand's form. */
export function factsIn(is: Facts | undefined, isNot: Facts | undefined): Partial<Operand> {
  return { ...(is && { whereTrue: is }), ...(isNot && { whereFalse: isNot }) }
}

/** An operand with the facts known about it here. */
export function withFacts(operand: Operand, facts: Facts | undefined): Operand {
  const fact = facts?.get(operand.code)
  if (fact === undefined || (operand.bits & fact.bits) === 0) return operand
  const shape = fact.shape ?? operand.shape
  const bits = operand.bits & fact.bits
  return { ...operand, bits, ...(shape && { shape: shape.bits === bits ? shape : { ...shape, bits: shape.bits & fact.bits } }) }
}

/** The facts in the branch where a value is true. */
export function whereTrue(test: Operand): Facts | undefined {
  return both(test.whereTrue, factOf(test, { bits: ~(UNDEF | NULL) }))
}

/** The facts about an object whose member equals a value of its union's discriminator. */
export function branchOf(member: Operand, word: unknown): Facts | undefined {
  const { of, name } = member.member ?? {}
  const shape = of?.shape?.by === name ? of?.shape?.branches?.get(String(word)) : undefined
  return of && shape && typeof word === 'string' ? factOf(of, { bits: shape.bits, shape }) : undefined
}
