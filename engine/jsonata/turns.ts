// Events that wait until what is open before them is finished. Where a provider weaves the parts of its answer, each part
// is told by itself, one after the other: what belongs to a later one is held back. Nothing is held where parts come in turn.

type State = Record<string, unknown>

/** Takes an event, or the end (which is no event); gives what went wrong, if something did. */
type Step = (state: State, event: unknown, ctx: unknown, carry: unknown, out: string[]) => unknown
type Look = (state: State, event: unknown, ctx: unknown, carry: unknown) => unknown

interface Reading {
  step: Step
  finish: (state: State, ctx: unknown, carry: unknown, out: string[]) => unknown
  /** The events that an event is taken as, each looked at by itself; nothing where it is one. */
  apart?: Look
  /** Whether an event has to wait. */
  when: Look
  /** What it is a part of: the events of a part are taken together, in the place of the first of them. */
  part: Look
}

/** As JSON: an event shares with others what never changes in them, and may be large. */
interface Part {
  key: unknown
  events: string[]
  /** The first of them, read: it is looked at again and again. */
  first?: unknown
}

interface Held {
  parts: Part[]
  /** The first that still waits. */
  next: number
  byKey: Map<unknown, Part>
  size: number
}

/** Characters of JSON that may wait at a time in one stream. */
const MOST_HELD = 16 * 1024 * 1024

const TOO_MUCH = {
  kind: 'upstream',
  message: 'The upstream wove the parts of its answer so far apart that they cannot be held back until it is their turn.',
}

const HELD = '$held'

/** A reducer whose events wait for their turn. */
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
  /** Takes what waits and need not any more; at the end, all of it. */
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
