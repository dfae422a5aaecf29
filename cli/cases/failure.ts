// What is said of an expression that failed. At run time JSONata's errors have only their codes.

/** The codes that a null, or another type than expected, usually leads to. */
const MEANINGS: Readonly<Record<string, string>> = {
  T0410: 'an argument of a function has a wrong type',
  T0411: 'a value left of a function is of a wrong type for it',
  T0412: 'a list in an argument has an element of a wrong type',
  T1006: 'what is called is no function',
  T2001: 'the left side of an arithmetic operator is no number',
  T2002: 'the right side of an arithmetic operator is no number',
  T2009: 'a number is compared with a text',
  T2010: '<, <=, > and >= compare numbers and texts only',
}

export function failureOf(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error)
  const meaning = MEANINGS[said]
  if (meaning === undefined) return `the mapping fails: ${said}`
  const { value } = error as { value?: unknown }
  return `the mapping fails: ${said}, ${meaning}${value === undefined ? '' : `: ${String(JSON.stringify(value)).slice(0, 80)}`}`
}
