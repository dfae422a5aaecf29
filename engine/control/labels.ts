// The labels of a request (end user, conversation, tags), from its headers, else from its body.

import type { Exchange, Labels } from '../core/exchange.js'
import { memberAt } from '../core/members.js'
import { isOmitted, storable } from '../core/text.js'
import type { Body, Dialect, Member } from '../plan.js'
import type { Route, Snapshot } from '../snapshot/model.js'
import { maskIssued } from './key-form.js'

/** Characters in a label, and how many labels. */
const LONGEST = 256
const MOST_TAGS = 16

/** Notes the labels of a request for the ledger. */
export function noteLabels(route: Route, input: { outline: Body }, exchange: Exchange, snapshot: Snapshot): void {
  const { labels: members } = snapshot.plan.dialects[route.dialect] as Dialect
  const { endUser, session, tags } = snapshot.labels
  const labels: Labels = {}
  const user = inHeader(endUser, exchange) ?? inBody(members?.endUser, input.outline)
  if (user !== undefined) labels.endUser = user
  const run = inHeader(session, exchange) ?? inBody(members?.session, input.outline)
  if (run !== undefined) labels.session = run
  const words = tags === undefined ? undefined : exchange.headers[tags]
  if (words) labels.tags = tagsOf(words)
  if (user !== undefined || run !== undefined || words) exchange.log.labels = labels
}

function inHeader(name: string | undefined, exchange: Exchange): string | undefined {
  return name === undefined ? undefined : textOf(exchange.headers[name])
}

function inBody(members: readonly Member[] | undefined, body: Body): string | undefined {
  for (const { path } of members ?? []) {
    const value = memberAt(body, path)
    // A text so long that the body's outline omits it is not a name.
    const text = typeof value === 'string' && !isOmitted(value) ? textOf(value) : undefined
    if (text !== undefined) return text
  }
  return undefined
}

/** Most texts are such, and are found to be so in a pass that is cheaper than a replacement that replaces nothing. */
const PLAIN = /^[ -~]{1,256}$/

function textOf(value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined
  return maskIssued(PLAIN.test(value) ? value : storable(value.slice(0, LONGEST)))
}

function tagsOf(text: string): string[] {
  return text
    .split(',')
    .flatMap(word => textOf(word.trim()) ?? [])
    .slice(0, MOST_TAGS)
}
