// The official clients' own request types, path by path, compared with our schemas: an updated SDK with new members fails
// here. sdk-requests.yaml lists members that are left out on purpose, with the reason.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import { fieldsOf } from '../../codegen/check/ledger.js'
import { schemaId } from '../../codegen/read/schemas.js'
import { compilerSays } from '../compiler.js'
import { project } from '../properties/plan.js'

/** The type of a request of each dialect, some of which have two. Google's names what it sends in parts; together they are the body. */
const REQUESTS: Readonly<Record<string, string>> = {
  chat: 'OpenAI.ChatCompletionCreateParams',
  completions: 'OpenAI.CompletionCreateParams',
  responses: 'OpenAI.Responses.ResponseCreateParams',
  responses_count: 'OpenAI.Responses.InputTokenCountParams',
  response_compact: 'OpenAI.Responses.ResponseCompactParams',
  embeddings: 'OpenAI.EmbeddingCreateParams',
  images: 'OpenAI.ImageGenerateParams',
  image_edit: 'OpenAI.ImageEditParams',
  speech: 'OpenAI.Audio.SpeechCreateParams',
  transcription: 'OpenAI.Audio.TranscriptionCreateParams',
  translation: 'OpenAI.Audio.TranslationCreateParams',
  video: 'OpenAI.VideoCreateParams',
  video_remix: 'OpenAI.VideoRemixParams',
  messages: 'Anthropic.MessageCreateParams',
  // The same address; what is tried out there first.
  'messages, beta': 'Anthropic.Beta.MessageCreateParams',
  messages_count: 'Anthropic.MessageCountTokensParams',
  'messages_count, beta': 'Anthropic.Beta.MessageCountTokensParams',
  generate:
    '{ contents: Google.Content[]; systemInstruction: Google.Content; tools: Google.Tool[]; toolConfig: Google.ToolConfig; safetySettings: Google.SafetySetting[]; generationConfig: Google.GenerationConfig }',
}

/** Members that are known and not named in a schema, and why. */
const left = load(readFileSync(join(import.meta.dirname, 'sdk-requests.yaml'), 'utf8')) as Record<
  string,
  { why: string; members: string[] }[]
>

/** What is left out of one request is left out of another that is like it. */
const LIKE: Readonly<Record<string, string>> = {
  responses_count: 'responses',
  response_compact: 'responses',
  'messages, beta': 'messages',
  messages_count: 'messages',
  'messages_count, beta': 'messages, beta',
}

const listedFor = (request: string | undefined): string[] =>
  request === undefined ? [] : [...listedFor(LIKE[request]), ...(left[request] ?? []).flatMap(({ members }) => members)]

const HEAD = `import type OpenAI from 'openai'; import type { Uploadable } from 'openai'; import type Anthropic from '@anthropic-ai/sdk'; import type * as Google from '@google/genai'
type Element<T> = T extends readonly (infer Item)[] ? Element<Item> : T
type At<T, Name> = T extends unknown ? (Name extends keyof T ? Element<NonNullable<T[Name]>> : never) : never
/* A file is not looked into. */
type Names<T> = T extends Uploadable ? never : T extends object ? (T extends (...args: never[]) => unknown ? never : string extends keyof T ? never : Extract<keyof T, string>) : never`

interface SchemaObject {
  /** As in `messages[].content[]`; empty for the whole. */
  path: string
  type: string
  known: string[]
}

type Node = ReturnType<typeof fieldsOf>[number]

/** Every object of a schema, and what is known of it. Google writes each name in two ways; the SDK's is the one in camel case. */
function objectsOf(dialect: string): SchemaObject[] {
  const objects: SchemaObject[] = []
  const visit = (path: string, type: string, members: readonly Node[]): void => {
    objects.push({ path, type, known: members.map(({ name }) => name) })
    for (const member of members)
      if (member.members.length > 0) visit(member.path, `At<${type}, ${JSON.stringify(member.name)}>`, member.members)
  }
  visit('', REQUESTS[dialect] as string, fieldsOf(project.schemas, schemaId(dialect.split(',')[0] as string, 'request')))
  return objects
}

/** What the SDK knows and the schema does not, as paths. */
async function missing(dialect: string): Promise<string[]> {
  const objects = objectsOf(dialect)
  const lines = objects.map(
    ({ type, known }, index) =>
      `export const a${index}: never = null as unknown as Exclude<Names<${type}>, ${known.map(name => JSON.stringify(name)).join(' | ') || 'never'}>`,
  )
  const first = HEAD.split('\n').length + 1
  return (await compilerSays([HEAD, ...lines].join('\n'))).flatMap(({ line, text }) => {
    const object = objects[line - first]
    const names = /Type '(.*)' is not assignable to type 'never'/.exec(text)?.[1]
    if (object === undefined || names === undefined) throw new Error(text)
    return [...names.matchAll(/"([^"]+)"/g)].map(([, name]) => (object.path === '' ? (name as string) : `${object.path}.${name}`))
  })
}

test.each(Object.keys(REQUESTS))('%s: the schema names every member that the SDK knows, or the list says why not', async dialect => {
  const listed = listedFor(dialect)
  const own = (left[dialect] ?? []).flatMap(({ members }) => members)
  const found = await missing(dialect)
  expect(found.filter(path => !listed.includes(path)).sort(), 'name them in the schema, or say in the list why not').toEqual([])
  expect(
    own.filter(path => !found.includes(path)),
    'named by now, or gone from the SDK: take them out of the list',
  ).toEqual([])
})
