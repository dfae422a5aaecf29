// Changes members of a request that its model does not accept in the dialect's form. The rules come from the known facts
// about a model: without any, a request stays as it is.

import { memberAt } from '../core/members.js'
import type { Body, FitRule, Json } from '../plan.js'
import type { Edit } from '../wire/json/scan.js'
import { unsupported } from './lost-fields.js'

export interface Fitted {
  /** The edits of the body's members; exact numbers still carry their mark. */
  edits: Map<string, Edit>
  /** The members that were changed or dropped, and the reason for the first. */
  told: string[]
  why: string
}

/**
 * Applies rules to a body; undefined if they change nothing. `body` may be an outline: a rule that makes an object, or
 * changes the inside of one, calls `whole` for the body itself. Throws `invalid_request` if a rule refuses the request; the
 * error names the member if `isKnown` says that the client knows it by this name.
 */
export function fitted(
  rules: readonly FitRule[],
  body: Body,
  whole: () => Body,
  traits: Readonly<Record<string, Json>>,
  isKnown: (path: readonly string[]) => boolean = () => true,
): Fitted | undefined {
  const edits = new Map<string, Edit>()
  const told: string[] = []
  const holders = new Map<string, Body>()
  let why = ''
  for (const { path, refuse, when, value: make, as, why: reason, isForAbsent, tellsAbsent, isRefusal } of rules) {
    const said = memberAt(body, path) ?? undefined
    if (said === undefined && !isForAbsent) continue
    if (isRefusal || refuse?.(body, traits)) throw unsupported(isKnown(path) ? path.join('.') : undefined, reason)
    if ((refuse && !make && as === undefined) || when?.(body, traits) === false) continue
    let value = make || as === undefined ? make?.(body, traits) : said
    const isKept = JSON.stringify(value) === JSON.stringify(said)
    if (isKept && as === undefined) continue
    if (typeof value === 'object' && value !== null && make) value = make(whole(), traits)
    const isTold =
      (!isKept && (said !== undefined || tellsAbsent === true)) ||
      (as !== undefined && memberAt(body, [...path.slice(0, -1), as]) !== undefined)
    if (isTold) {
      if (told.length === 0) why = reason
      told.push(path.join('.'))
    }
    const name = path[0] as string
    if (path.length === 1) {
      const isGone = value === undefined || (as !== undefined && isTold && isKept)
      edits.set(
        name,
        isGone ? { drop: true } : { ...(!isKept && { value: JSON.stringify(value) }), ...(as !== undefined && { rename: as }) },
      )
      continue
    }
    const holder = holders.get(name) ?? (structuredClone(whole()[name] ?? {}) as Body)
    holders.set(name, holder)
    const inner = innerOf(holder, path.slice(1, -1))
    delete inner[path.at(-1) as string]
    const other = as ?? (path.at(-1) as string)
    if (value !== undefined && inner[other] === undefined) inner[other] = value
  }
  for (const [name, holder] of holders) edits.set(name, { value: JSON.stringify(holder) })
  return edits.size > 0 ? { edits, told, why } : undefined
}

/** The object at a path, created if it does not exist. */
function innerOf(holder: Body, path: readonly string[]): Body {
  let inner = holder
  for (const name of path) {
    if (typeof inner[name] !== 'object' || inner[name] === null) inner[name] = {}
    inner = inner[name] as Body
  }
  return inner
}

/** Applies edits to a body. */
export function applyEdits(edits: ReadonlyMap<string, Edit>, body: Body): void {
  for (const [name, { value, rename, drop }] of edits) {
    const held = value === undefined ? body[name] : JSON.parse(value)
    if (drop || rename !== undefined) delete body[name]
    if (!drop) body[rename ?? name] = held
  }
}
