// The members that a schema has for a value, or for the items of a list, which expressions and paths read alike.

import { ARR, OBJ, type Shape } from '../jsonata/types.js'

/** What a member may be; or the names of the members that there are, if it is none of them. */
export type Found = { shapes: readonly Shape[] } | { known: readonly string[] }

export class Members {
  private readonly objects = new Map<Shape, readonly Shape[] | undefined>()

  /** A member of a value; undefined if nothing is known of it, or if the value is no object. */
  of(shapes: readonly Shape[], name: string): Found | undefined {
    const objects = this.objectsOf(shapes)
    if (objects === undefined || objects.length === 0) return undefined
    if (objects.some(shape => !shape.members?.has(name) && (shape.isNamed !== true || shape.rest !== undefined))) return undefined
    const found = objects.flatMap(shape => shape.members?.get(name) ?? [])
    return found.length > 0 ? { shapes: found } : { known: [...new Set(objects.flatMap(shape => [...(shape.members?.keys() ?? [])]))] }
  }

  /** The first name of a path that leads nowhere, and the names that there are in its place. */
  missing(shape: Shape, names: readonly string[]): { at: number; known: readonly string[] } | undefined {
    let shapes: readonly Shape[] = [shape]
    for (const [at, name] of names.entries()) {
      const found = this.of(shapes, name)
      if (found === undefined) return undefined
      if ('known' in found) return { at, known: found.known }
      shapes = found.shapes
    }
    return undefined
  }

  /** The objects that a value may be, or the items of a list; undefined if nothing is known of some of them. */
  private objectsOf(shapes: readonly Shape[]): readonly Shape[] | undefined {
    const found = shapes.map(shape => this.objectsIn(shape))
    return found.includes(undefined) ? undefined : found.flatMap(one => one ?? [])
  }

  private objectsIn(shape: Shape): readonly Shape[] | undefined {
    if (this.objects.has(shape)) return this.objects.get(shape)
    // Nothing is known of a list of itself.
    this.objects.set(shape, undefined)
    const found = this.unfolded(shape)
    this.objects.set(shape, found)
    return found
  }

  private unfolded(shape: Shape): readonly Shape[] | undefined {
    const { bits, items, alternatives, branches } = shape
    if (branches) return undefined
    if (alternatives) return this.objectsOf(alternatives)
    const inside = (bits & ARR) === 0 ? [] : items && this.objectsIn(items)
    return inside && [...((bits & OBJ) === 0 ? [] : [shape]), ...inside]
  }
}
