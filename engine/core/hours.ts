// Hours of the week in UTC, as prices name them: `mon-fri 01:00-04:00`.

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const MINUTE = 60_000
const MINUTES_A_DAY = 24 * 60
/** The first of January 1970 was a Thursday. */
const FIRST_DAY = 4

/**
 * Whether a moment is within some hours: from the first minute, up to but without the last.
 * @param texts each `mon-fri 01:00-04:00`, `sat 00:00-24:00`, or hours without days, which hold every day; days and hours
 * may wrap around the end of the week, or of a day
 * @returns a predicate on milliseconds since 1970
 */
export function isWithinHours(texts: readonly string[]): (time: number) => boolean {
  const spans = texts.map(spanOf)
  return time => {
    const minutes = Math.floor(time / MINUTE)
    const minute = minutes % MINUTES_A_DAY
    const day = (Math.floor(minutes / MINUTES_A_DAY) + FIRST_DAY) % DAYS.length
    const before = (day + DAYS.length - 1) % DAYS.length
    return spans.some(({ days, from, to }) =>
      from < to ? days.has(day) && minute >= from && minute < to : (days.has(day) && minute >= from) || (days.has(before) && minute < to),
    )
  }
}

function spanOf(text: string): { days: ReadonlySet<number>; from: number; to: number } {
  const [hours, named] = text.split(' ').reverse() as [string, string?]
  const [from, to] = hours.split('-').map(minuteOf) as [number, number]
  const [first = 'sun', last = first] = named?.split('-') ?? ['sun', 'sat']
  const days = new Set<number>()
  for (let day = DAYS.indexOf(first); ; day = (day + 1) % DAYS.length) {
    days.add(day)
    if (day === DAYS.indexOf(last)) return { days, from, to }
  }
}

function minuteOf(text: string): number {
  const [hour, minute] = text.split(':').map(Number) as [number, number]
  return hour * 60 + minute
}
