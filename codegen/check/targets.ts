// What a schema accepts for one value, as the check of what mappings make asks it: the alternatives of a value, the items of a
// list, and the members of an object.

import { ARR, OBJ, type Shape } from '../jsonata/types.js'

/** The alternatives that a value may take, and where it stands in the provider's request or the client's answer. */
export interface Target {
  /** As in `messages[].content`; '' for the whole. */
  path: string
  shapes: readonly Shape[]
  /** It is one of the items of a list: an expression may give several at once. */
  isItem: boolean
  /** The object is merged with others, so that members may be missing. */
  isPart: boolean
  /** The numbers of its shapes, for a memo. */
  key: string
}

/** The member of a target by its name: what it may be, `open` if the schema leaves that open, or undefined if there is none. */
export type MemberTarget = Target | 'open' | undefined

/** Makes targets of shapes. Each shape is looked at once. */
export class Targets {
  private readonly numbers = new Map<Shape, number>()
  private readonly flat = new Map<Shape, readonly Shape[]>()

  target(path: string, shapes: readonly Shape[], isItem = false, isPart = false): Target {
    const all = new Set(shapes.flatMap(shape => this.alternatives(shape)))
    const key = `${[...all].map(shape => this.numberOf(shape)).join()}${isItem ? 'i' : ''}${isPart ? 'p' : ''}`
    return { path, shapes: [...all], isItem, isPart, key }
  }

  part(target: Target): Target {
    return target.isPart ? target : { ...target, isPart: true, key: `${target.key}p` }
  }

  /** What the items of a list may be. Where the target is an item itself, a list gives several of them. */
  items(target: Target): Target | undefined {
    if (target.isItem) return target
    const lists = target.shapes.filter(({ bits }) => bits & ARR)
    const items = lists.flatMap(({ items }) => (items ? [items] : []))
    return items.length < lists.length || items.length === 0 ? undefined : this.target(`${target.path}[]`, items, true)
  }

  /** What the results of a loop may be, which are a list or, if there is one, itself. */
  results(target: Target): Target | undefined {
    if (target.isItem || !target.shapes.some(({ bits }) => bits & ARR))
      return target.isItem ? target : { ...target, isItem: true, key: `${target.key}i` }
    const items = this.items(target)
    return items && this.target(items.path, [...items.shapes, ...target.shapes.filter(({ bits }) => (bits & ARR) === 0)], true)
  }

  /** The alternatives of a shape that are no choice themselves. */
  private alternatives(shape: Shape): readonly Shape[] {
    let found = this.flat.get(shape)
    if (found === undefined) {
      this.flat.set(shape, [shape])
      found = shape.alternatives ? shape.alternatives.flatMap(one => this.alternatives(one)) : [shape]
      this.flat.set(shape, found)
    }
    return found
  }

  private numberOf(shape: Shape): number {
    let number = this.numbers.get(shape)
    if (number === undefined) this.numbers.set(shape, (number = this.numbers.size))
    return number
  }
}

/** An object that a schema accepts: one branch of its unions, or without one all of them. */
export class ObjectTarget {
  private readonly kinds: readonly (readonly Shape[])[]

  /** `said`: the members whose value is written out, by which unions tell their branches apart. */
  constructor(
    private readonly target: Target,
    private readonly targets: Targets,
    said: ReadonlyMap<string, string>,
  ) {
    const objects = target.shapes.filter(({ bits }) => bits & OBJ)
    const fitting = objects.filter(shape => [...said].every(([name, value]) => accepts(shape.members?.get(name), value)))
    this.kinds = (fitting.length > 0 ? fitting : objects).flatMap(shape => {
      const { by, branches } = shape
      if (by === undefined || branches === undefined) return [[shape]]
      const tag = said.get(by)
      const branch = tag === undefined ? undefined : branches.get(tag)
      if (branch) return [[shape, branch]]
      const isClosed = shape.members?.get(by)?.values !== undefined
      return [...[...branches.values()].map(one => [shape, one]), ...(isClosed ? [] : [[shape]])]
    })
  }

  /** What a member may be. */
  member(name: string): MemberTarget {
    const found: Shape[] = []
    for (const kind of this.kinds) {
      const member = memberOf(kind, name)
      if (member) found.push(member)
      else if (!isClosed(kind)) return 'open'
    }
    return found.length === 0 ? undefined : this.targets.target(this.target.path === '' ? name : `${this.target.path}.${name}`, found)
  }

  /** The names that it has. */
  names(): string[] {
    return [...new Set(this.kinds.flatMap(kind => kind.flatMap(shape => [...(shape.members?.keys() ?? [])])))]
  }

  /** The members that it needs, whatever kind it is. */
  required(): string[] {
    const [first = [], ...others] = this.kinds.map(kind => kind.flatMap(needed))
    return [...new Set(first)].filter(name => others.every(names => names.includes(name)))
  }
}

/** A member by its branch; by the union itself, if it is one that the branches do not have. */
function memberOf([whole, branch]: readonly Shape[], name: string): Shape | undefined {
  if (branch === undefined) return whole?.members?.get(name)
  const own = branch.members?.get(name)
  if (own) return own
  const isOfOthers = name !== whole?.by && [...(whole?.branches?.values() ?? [])].some(other => other.members?.has(name))
  return isOfOthers ? undefined : whole?.members?.get(name)
}

/** Whether an object has the members that its schema names, and no others. */
function isClosed(kind: readonly Shape[]): boolean {
  return kind.at(-1)?.isNamed === true && kind.every(shape => shape.rest === undefined)
}

function accepts(shape: Shape | undefined, value: string): boolean {
  return shape?.values === undefined || shape.values.includes(value)
}

/** Bit 1 is UNDEF: a member without it is there in every value. */
function needed({ members }: Shape): string[] {
  return [...(members ?? [])].filter(([, { bits }]) => (bits & 1) === 0).map(([name]) => name)
}
