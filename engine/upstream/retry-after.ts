// How long a provider asks its callers to wait. Its words are handed on only as far as they are valid, and bounded.

/**
 * The longest wait that is told to a caller: seconds. A caller's timer in JavaScript holds no more milliseconds than a signed
 * number of 32 bits (HTML, "timers"), and one that is set to more fires at once.
 */
const LONGEST = 2_147_483

/** RFC 9110, 10.2.3, has digits only; some providers send parts of a second, too. */
const DIGITS = /^[0-9]+(\.[0-9]+)?$/

/** The forms of a date that RFC 9110, 5.6.7, has a recipient accept. */
const DATE = /^[A-Z][a-z]+, [0-9]{2}([ -])[A-Z][a-z]{2}\1([0-9]{2}){1,2} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/
const DATE_OF_C = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}$/

/** A header `retry-after`, which holds seconds or a date, as whole seconds; undefined if it holds neither. */
export function secondsOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  if (DIGITS.test(header)) return told(Number(header))
  const time = timeOf(header)
  return Number.isNaN(time) ? undefined : told(Math.max(0, time - Date.now()) / 1_000)
}

/** Seconds in a body. */
export function secondsIn(said: unknown): string | undefined {
  return typeof said === 'number' && said >= 0 ? told(said) : undefined
}

/** A header `retry-after-ms`, a number of milliseconds; undefined if it is none. */
export function millisecondsOf(header: string | undefined): string | undefined {
  return header === undefined || !DIGITS.test(header) ? undefined : String(Math.min(Number(header), LONGEST * 1_000))
}

function timeOf(date: string): number {
  if (DATE.test(date)) return Date.parse(date)
  return DATE_OF_C.test(date) ? Date.parse(`${date} GMT`) : Number.NaN
}

function told(seconds: number): string {
  return String(Math.min(Math.ceil(seconds), LONGEST))
}
