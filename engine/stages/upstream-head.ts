// The head of an upstream request: its path and headers.

import type { Attempt } from './attempt.js'
import { callersCredential } from './callers-credential.js'

/** A binding's path, with the id of the followed task and the query parameters that the route passes on. */
export function pathOf({ binding, choice, route, input, exchange }: Attempt): string {
  const { task } = choice
  let whole = input.stream ? binding.streamPath : binding.path
  if (task && binding.isOpen) {
    whole = whole
      .replaceAll('{model}', encodeURIComponent(task.model))
      .replaceAll('{task}', encodeURIComponent(task.id))
      .replaceAll('{+task}', task.id.split('/').map(segment).join('/'))
  }
  if (binding.mapping || route.forwardQuery.length === 0) return whole
  const passed = new URLSearchParams()
  for (const name of route.forwardQuery) if (exchange.query[name] !== undefined) passed.set(name, exchange.query[name])
  const text = passed.toString()
  return text === '' ? whole : `${whole}${whole.includes('?') ? '&' : '?'}${text}`
}

/** A path segment that cannot change the path: the provider chose the text, and a segment of dots would climb. */
function segment(text: string): string {
  return /^\.+$/.test(text) ? text.replaceAll('.', '%2E') : encodeURIComponent(text)
}

/** The headers of an upstream request except its body's: the binding's, the credential, and those that the route passes on. */
export function headersOf(attempt: Attempt): string[] {
  const { binding, route, exchange } = attempt
  const headers = binding.headers.slice()
  headers.push('x-request-id', exchange.id)
  if (binding.token) headers.push(binding.token.header, binding.token.value())
  if (binding.target.isCallers) addCallers(headers, attempt)
  if (binding.mapping) return headers
  for (const name of route.forward) {
    const value = exchange.headers[name]
    if (value === undefined || binding.heldHeaders?.has(name)) continue
    if (binding.headerNames.has(name)) headers[headers.indexOf(name) + 1] = value
    else headers.push(name, value)
  }
  return headers
}

function addCallers(headers: string[], attempt: Attempt): void {
  const { header, value } = callersCredential(attempt)
  const at = headers.indexOf(header)
  if (at >= 0) headers[at + 1] = value
  else headers.push(header, value)
}
