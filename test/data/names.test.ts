// Every model name in the types of the makers' SDKs, and every model of a provider's file, has a known fact: its price, its
// inputs or outputs, or its end. If an update of an SDK brings a name that fails here, add it to models/.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { combined, entriesFor } from '../../engine/snapshot/catalogue.js'
import { plan } from '../engine/plan.js'

/** No page that could be read says anything of these. */
const UNKNOWN = new Set([
  'openai gpt-5.1-mini',
  'gemini aqa',
  'gemini gemma-3-1b-it',
  'gemini gemma-3-4b-it',
  'gemini gemma-3-12b-it',
  'gemini gemma-3n-e2b-it',
  'gemini gemma-3n-e4b-it',
  'gemini veo-3.1-generate',
])

/** Types in the SDKs that are a union of names. */
const TYPES: [provider: string, file: string, names: RegExp][] = [
  ['openai', 'openai/resources/shared.d.ts', /^(Chat|Responses)Model$/],
  ['openai', 'openai/resources/images.d.ts', /^ImageModel$/],
  ['openai', 'openai/resources/embeddings.d.ts', /^EmbeddingModel$/],
  ['openai', 'openai/resources/moderations.d.ts', /^ModerationModel$/],
  ['openai', 'openai/resources/videos.d.ts', /^VideoModel$/],
  ['openai', 'openai/resources/audio/audio.d.ts', /^AudioModel$/],
  ['openai', 'openai/resources/audio/speech.d.ts', /^SpeechModel$/],
  ['openai', '@ai-sdk/openai/dist/index.d.ts', /ModelId$/],
  ['anthropic', '@anthropic-ai/sdk/resources/messages/messages.d.ts', /^Model$/],
  ['anthropic', '@ai-sdk/anthropic/dist/index.d.ts', /ModelId$/],
  ['gemini', '@ai-sdk/google/dist/index.d.ts', /ModelId$/],
]

function namesIn(file: string, types: RegExp): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../node_modules', file), 'utf8')
  const unions = [...text.matchAll(/type (\w+) = ([^;]*);/g)].filter(([, type]) => types.test(type as string))
  return unions.flatMap(([, , union]) => [...(union as string).matchAll(/["']([^"'\s]+)["']/g)].map(([, name]) => name as string))
}

function isKnown(provider: string, name: string): boolean {
  const found = entriesFor(plan.catalogue ?? [], provider, name)
  const { retired, prices, context } = combined(found)
  if (retired !== undefined || prices !== undefined || context !== undefined) return true
  // What a pattern says of all that are called so is not known of this one.
  return found.some(({ entry }) => entry.match.includes(name) && entry.facts.outputs !== undefined)
}

describe('every model name in the types of an SDK is known', () => {
  test.each(TYPES)('%s: %s, %s', (provider, file, types) => {
    const names = namesIn(file, types)
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter(name => !isKnown(provider, name) && !UNKNOWN.has(`${provider} ${name}`))).toEqual([])
  })
})

test('every model name that a provider offers is known', () => {
  const offered = Object.values(plan.providers).flatMap(({ name: provider, models }) => models.map(name => [provider, name] as const))
  expect(offered.length).toBeGreaterThan(50)
  expect(offered.filter(([provider, name]) => !isKnown(provider, name)).map(names => names.join(' '))).toEqual([])
})
