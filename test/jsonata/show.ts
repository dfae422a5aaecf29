// Values and outcomes as text, to be compared and printed: with what JSON would hide, which is absence, functions, the
// order of keys and numbers that are none.

export type Outcome = { value: unknown } | { error: unknown }

export function attempt(run: () => unknown): Outcome {
  // Both sides make many errors, and their traces would cost more than everything else.
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return { value: run() }
  } catch (error) {
    return { error }
  } finally {
    Error.stackTraceLimit = limit
  }
}

export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[STDU]\d{4}$/.test(code) ? code : undefined
}

/** Whether a value is a function: the interpreter's own are objects. */
function isFunction(value: unknown): boolean {
  if (typeof value === 'function') return true
  return typeof value === 'object' && value !== null && ('_jsonata_function' in value || '_jsonata_lambda' in value)
}

/** With `flags`, a sequence is distinguished from an array. */
export function show(value: unknown, flags = false, around: readonly unknown[] = []): string {
  if (isFunction(value)) return 'function'
  if (typeof value === 'object' && value !== null) {
    if (around.includes(value)) return 'itself' // a transform can do that
    const inside = [...around, value]
    if (Array.isArray(value)) {
      const mark = flags && (value as { sequence?: boolean }).sequence ? 'sequence ' : ''
      return `${mark}[${value.map(item => show(item, flags, inside)).join(', ')}]`
    }
    const pairs = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${show(item, flags, inside)}`)
    return `{${pairs.join(', ')}}`
  }
  if (typeof value === 'string') return JSON.stringify(value)
  return Object.is(value, -0) ? '-0' : String(value)
}

export function showOutcome(outcome: Outcome, flags = false): string {
  if ('value' in outcome) return outcome.value === undefined ? 'nothing' : show(outcome.value, flags)
  const code = codeOf(outcome.error)
  if (code !== undefined) return `error ${code}`
  return `crash ${outcome.error instanceof Error ? outcome.error.message.slice(0, 200) : show(outcome.error)}`
}
