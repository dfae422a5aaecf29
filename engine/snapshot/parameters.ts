// The parameter rules of the operator and of a provider's endpoint, as rules for requests in one dialect.

import { memberAt, setMember } from '../core/members.js'
import type { Body, Dialect, Endpoint, FitRule, Json } from '../plan.js'
import { Unnamed } from '../wire/json/unnamed.js'
import type { ParameterConfig } from './config.js'

const ALWAYS = (): boolean => true

/**
 * The rules for requests in the dialect `to`; a target's rule wins over its model's. A member that this dialect does not
 * name applies only if no dialect of the provider names it: then it is the provider's own.
 */
export function parameterRules(
  model: ParameterConfig,
  target: ParameterConfig,
  endpoint: Endpoint,
  to: Dialect,
  spoken: readonly Dialect[],
): FitRule[] {
  const isMeant = (path: readonly string[]): boolean => names(to, path) || !spoken.some(dialect => names(dialect, path))
  const rule = (name: string, rest: Omit<FitRule, 'path' | 'where'>): FitRule[] => {
    const path = name.split('.')
    return isMeant(path) ? [{ path, where: ALWAYS, ...rest }] : []
  }
  const refused = { ...endpoint.refuse, ...model.refuse, ...target.refuse }
  const dropped = [...(model.drop ?? []), ...(target.drop ?? [])]
  const defaults = Object.entries({ ...model.defaults, ...target.defaults })
  const caps = Object.entries({ ...model.cap, ...target.cap })
  const forced = Object.entries({ ...model.force, ...target.force })
  return [
    ...Object.entries(refused).flatMap(([name, why]) => rule(name, { isRefusal: true, why })),
    ...dropped.flatMap(name => rule(name, { value: () => undefined, why: 'the operator removes it' })),
    ...defaults.flatMap(([name, value]) => rule(name, { ...setTo(name, value, false), why: '' })),
    ...caps.flatMap(([name, most]) => rule(name, { value: capped(name, most), why: `the operator allows ${most} at most` })),
    ...forced.flatMap(([name, value]) => rule(name, { ...setTo(name, value, true), why: 'the operator has set it' })),
  ]
}

/** Sets a member: always, or only if the request has none. */
function setTo(name: string, value: unknown, isForced: boolean): Pick<FitRule, 'value' | 'isForAbsent'> {
  const path = name.split('.')
  return { isForAbsent: true, value: body => ((isForced ? undefined : memberAt(body, path)) ?? value) as Json }
}

function capped(name: string, most: number): NonNullable<FitRule['value']> {
  const path = name.split('.')
  return body => {
    const said = memberAt(body, path)
    return (typeof said === 'number' ? Math.min(said, most) : said) as Json
  }
}

/** Whether the schema of a dialect's requests names a member. */
export function names({ unnamed }: Dialect, path: readonly string[]): boolean {
  if (unnamed === undefined) return false
  const body: Body = {}
  setMember(body, path, 0)
  const found = new Unnamed()
  unnamed(body, found)
  return found.members.length === 0
}
