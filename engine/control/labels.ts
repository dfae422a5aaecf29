// For whom, in which conversation and under which words a request is asked: what its headers say, else what its body says.

import type { Exchange, Labels } from '../core/exchange.js'
import { memberAt } from '../core/members.js'
import { isOmitted } from '../core/text.js'
import type { Body, Dialect, Member } from '../plan.js'
import type { Route, Snapshot } from '../snapshot/model.js'

/** Characters, and words. */
const LONGEST = 256
const MOST_TAGS = 16

/** Notes what the ledger is told of a request beside what it costs. */
export function noteLabels(route: Route, input: { outline: Body }, exchange: Exchange, snapshot: Snapshot): void {
  const { labels: places } = snapshot.plan.dialects[route.dialect] as Dialect
  const { endUser, session, tags } = snapshot.labels
  const labels: Labels = {}
  const user = inHeader(endUser, exchange) ?? inBody(places?.endUser, input.outline)
  if (user !== undefined) labels.endUser = user
  const run = inHeader(session, exchange) ?? inBody(places?.session, input.outline)
  if (run !== undefined) labels.session = run
  const words = inHeader(tags, exchange)
  if (words !== undefined) labels.tags = tagsOf(words)
  if (user !== undefined || run !== undefined || words !== undefined) exchange.log.labels = labels
}

function inHeader(name: string | undefined, exchange: Exchange): string | undefined {
  return name === undefined ? undefined : textOf(exchange.headers[name])
}

function inBody(members: readonly Member[] | undefined, body: Body): string | undefined {
  for (const { path } of members ?? []) {
    const value = memberAt(body, path)
    // What is so long that its body's outline leaves it out names nobody.
    const text = typeof value === 'string' && !isOmitted(value) ? textOf(value) : undefined
    if (text !== undefined) return text
  }
  return undefined
}

/** What no store can hold: characters that are none, and halves of them. */
const NO_TEXT = /[\0-\x1f\x7f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** Most texts are such, and are found to be so in a pass that is cheaper than a replacement that replaces nothing. */
const PLAIN = /^[ -~]{1,256}$/

function textOf(value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined
  return PLAIN.test(value) ? value : value.slice(0, LONGEST).replaceAll(NO_TEXT, '\ufffd')
}

function tagsOf(text: string): string[] {
  const words = text.split(',').map(word => word.trim())
  return words.filter(word => word !== '').slice(0, MOST_TAGS)
}
