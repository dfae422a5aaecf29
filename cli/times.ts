// Dates as people and tables of other gateways write them.

import { beginningOf } from '../engine/core/durations.js'

/** A date, or a date with a time: `2027-01-31`, `2027-01-31T18:00:00Z`, `2027-01-31 18:00:00.5+02:00`. */
const FORM = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?(?: ?(Z|UTC|[+-]\d\d(?::?\d\d)?))?)?$/i

/** Milliseconds since 1970; a text without a time zone means UTC. Undefined if it is no such date, or the date does not exist. */
export function instant(text: string): number | undefined {
  const [, day, minute = '00:00', rest = ':00', zone = 'Z'] = FORM.exec(text) ?? []
  if (day === undefined) return undefined
  const time = Date.parse(`${day}T${minute}${rest.slice(0, 7)}${offsetOf(zone)}`)
  return Number.isNaN(time) || beginningOf(day) === undefined ? undefined : time
}

/** `+02`, `+0200` and `+02:00` as the last of them. */
function offsetOf(zone: string): string {
  if (/^(z|utc)$/i.test(zone)) return 'Z'
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0')
  return `${zone[0]}${digits.slice(0, 2)}:${digits.slice(2)}`
}
