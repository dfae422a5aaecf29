// Windows of budgets by the calendar of a time zone. Nothing is reset: each window has its own account.

export type Every = 'hour' | 'day' | 'week' | 'month' | 'ever'

/** Milliseconds since 1970; `end` is the first moment after the window. */
export interface Window {
  start: number
  end: number
}

const HOUR = 3_600_000
const DAY = 86_400_000
/** 1970 began on a Thursday. */
const MONDAY = 4 * DAY

export const EVER: Window = { start: 0, end: Number.POSITIVE_INFINITY }

const formats = new Map<string, Intl.DateTimeFormat>()

/** Whether a name is that of a known time zone. */
export function isZone(name: string): boolean {
  // The tables of all zones take longer to load than a small command takes otherwise.
  if (name === 'UTC') return true
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** The offset of a zone from UTC at a moment: milliseconds. */
function offsetAt(zone: string, time: number): number {
  if (zone === 'UTC') return 0
  let format = formats.get(zone)
  if (format === undefined) {
    const whole = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const
    formats.set(zone, (format = new Intl.DateTimeFormat('en-u-ca-gregory-hc-h23', { timeZone: zone, ...whole })))
  }
  const parts: Record<string, number> = {}
  for (const { type, value } of format.formatToParts(time)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / 1_000) * 1_000
}

/** The moment at which the clocks of a zone show a time; if they skip that time, the moment of the skip. */
function momentOf(zone: string, shown: number): number {
  const first = shown - offsetAt(zone, shown)
  return shown - offsetAt(zone, first)
}

/** The beginnings of the period that contains a shown time, and of the next period, as shown times. */
function periodOf(every: Every, shown: number): [number, number] {
  if (every === 'month') {
    const date = new Date(shown)
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
    return [Date.UTC(year, month), Date.UTC(year, month + 1)]
  }
  const length = every === 'day' ? DAY : 7 * DAY
  const from = every === 'day' ? 0 : MONDAY
  const start = Math.floor((shown - from) / length) * length + from
  return [start, start + length]
}

/** The window that contains a moment, in milliseconds since 1970. Windows follow each other without a gap. */
export function windowAt(every: Every, zone: string, time: number): Window {
  if (every === 'ever') return EVER
  if (every === 'hour') {
    // The offset of some zones is not a whole number of hours.
    const offset = offsetAt(zone, time)
    const start = Math.floor((time + offset) / HOUR) * HOUR - offset
    // Clocks that are changed by half an hour are in the middle of an hour then: the one before has its first half.
    const isSplit = (offset - offsetAt(zone, start)) % HOUR !== 0
    return { start: isSplit ? windowAt(every, zone, start).end : start, end: start + HOUR }
  }
  const [first, next] = periodOf(every, time + offsetAt(zone, time))
  const window = { start: momentOf(zone, first), end: momentOf(zone, next) }
  // Clocks that are put back over midnight show the new day's times before the day has begun.
  if (time < window.start) return { start: momentOf(zone, periodOf(every, first - 1)[0]), end: window.start }
  if (time >= window.end) return { start: window.end, end: momentOf(zone, periodOf(every, next)[1]) }
  return window
}
