// Reorders events so that each part of an answer is complete before the next begins. If a provider interleaves the parts,
// the events of a later part wait. Nothing waits if the parts arrive in order.

type State = Record<string, unknown>

/** Handles an event, or the end (without an event); returns a failure if there was one. */
type Step = (state: State, event: unknown, ctx: unknown, carry: unknown, out: string[]) => unknown
type Look = (state: State, event: unknown, ctx: unknown, carry: unknown) => unknown

interface Reading {
  step: Step
  finish: (state: State, ctx: unknown, carry: unknown, out: string[]) => unknown
  /** Splits an event into several, each inspected by itself; undefined if it is one. */
  apart?: Look
  /** Whether an event has to wait. */
  when: Look
  /** The part that it belongs to: the events of a part come together, in the place of the first of them. */
  part: Look
}

/** Waiting events as JSON text: an event shares its constant parts with others, and may be large. */
interface Part {
  key: unknown
  events: string[]
  /** The first of them, parsed, because it is inspected repeatedly. */
  first?: unknown
}

interface Held {
  parts: Part[]
  /** The first that still waits. */
  next: number
  byKey: Map<unknown, Part>
  size: number
}

/** Characters of JSON that may wait in one stream. */
const MOST_HELD = 16 * 1024 * 1024

const TOO_MUCH = {
  kind: 'upstream',
  message: 'The upstream interleaves the parts of its answer so far that they cannot be put in order.',
}

const HELD = '$held'

/** A reducer with its events in order. */
export function inTurn({ step, finish, apart, when, part }: Reading): { event: Step; done: Reading['finish'] } {
  const keep = (state: State, event: unknown, ctx: unknown, carry: unknown): unknown => {
    state[HELD] ??= { parts: [], next: 0, byKey: new Map(), size: 0 } satisfies Held
    const held = state[HELD] as Held
    const text = JSON.stringify(event)
    held.size += text.length
    if (held.size > MOST_HELD) return TOO_MUCH
    const key = part(state, event, ctx, carry)
    const last = held.parts.at(-1)
    let its = key === undefined ? (last?.key === undefined ? last : undefined) : held.byKey.get(key)
    if (its === undefined) {
      its = { key, events: [] }
      held.parts.push(its)
      if (key !== undefined) held.byKey.set(key, its)
    }
    its.events.push(text)
    return undefined
  }
  /** Handles the events that need not wait any longer; at the end, all of them. */
  const release = (state: State, ctx: unknown, carry: unknown, out: string[], isEnd: boolean): unknown => {
    const held = state[HELD] as Held
    while (held.next < held.parts.length) {
      const its = held.parts[held.next] as Part
      if (!isEnd) {
        its.first ??= JSON.parse(its.events[0] as string)
        if (when(state, its.first, ctx, carry)) return undefined
      }
      held.parts[held.next++] = { key: null, events: [] }
      held.byKey.delete(its.key)
      for (const text of its.events) {
        held.size -= text.length
        const failure = step(state, JSON.parse(text), ctx, carry, out)
        if (failure !== undefined) return failure
      }
    }
    state[HELD] = null
    return undefined
  }
  const take: Step = (state, event, ctx, carry, out) => {
    if (when(state, event, ctx, carry)) return keep(state, event, ctx, carry)
    const failure = step(state, event, ctx, carry, out)
    return failure === undefined && state[HELD] ? release(state, ctx, carry, out, false) : failure
  }
  return {
    event(state, event, ctx, carry, out) {
      const several = apart?.(state, event, ctx, carry)
      if (!Array.isArray(several)) return take(state, event, ctx, carry, out)
      for (const one of several) {
        const failure = take(state, one, ctx, carry, out)
        if (failure !== undefined) return failure
      }
      return undefined
    },
    done(state, ctx, carry, out) {
      const failure = state[HELD] ? release(state, ctx, carry, out, true) : undefined
      return failure === undefined ? finish(state, ctx, carry, out) : failure
    },
  }
}
