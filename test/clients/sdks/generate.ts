// The official Gemini client.

import {
  ApiError,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentParameters,
  type GenerateContentResponse,
  GoogleGenAI,
  type Part,
} from '@google/genai'
import { expect } from 'vitest'
import { type Answer, type Ask, isAddress, type Speaker } from './sdk.js'

const MODES = { auto: FunctionCallingConfigMode.AUTO, any: FunctionCallingConfigMode.ANY, none: FunctionCallingConfigMode.NONE }

const params = (ask: Ask<Content>): GenerateContentParameters => ({
  model: ask.model,
  contents: ask.history,
  config: {
    ...(ask.system && { systemInstruction: ask.system }),
    ...(ask.tools && {
      tools: [
        {
          functionDeclarations: ask.tools.map(({ name, description, parameters }) => ({
            name,
            ...(description && { description }),
            ...(parameters && { parametersJsonSchema: parameters }),
          })),
        },
      ],
    }),
    ...(ask.choice && {
      toolConfig: {
        functionCallingConfig:
          typeof ask.choice === 'string'
            ? { mode: MODES[ask.choice] }
            : { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: [ask.choice.name] },
      },
    }),
    ...(ask.schema && { responseMimeType: 'application/json', responseJsonSchema: ask.schema }),
    ...(ask.reasons !== undefined && {
      thinkingConfig: ask.reasons ? { includeThoughts: true, thinkingBudget: 8192 } : { thinkingBudget: 0 },
    }),
    ...(ask.stops && { stopSequences: ask.stops }),
    ...(ask.limit && { maxOutputTokens: ask.limit }),
    ...(ask.signal && { abortSignal: ask.signal }),
  },
})

function answerOf(parts: Part[], last: GenerateContentResponse): Answer<Content> {
  const { usageMetadata: usage = {} } = last
  const textOf = (isThought: boolean): string => parts.map(part => (Boolean(part.thought) === isThought ? (part.text ?? '') : '')).join('')
  const { promptTokenCount = Number.NaN, candidatesTokenCount = 0, thoughtsTokenCount = 0, cachedContentTokenCount = 0 } = usage
  return {
    text: textOf(false),
    thought: textOf(true),
    calls: parts.flatMap(({ functionCall: call }) => (call ? [{ id: call.id ?? '', name: call.name ?? '', args: call.args ?? {} }] : [])),
    finish: last.candidates?.[0]?.finishReason ?? 'none',
    usage: {
      input: promptTokenCount,
      // Thoughts are counted beside the answer.
      output: candidatesTokenCount + thoughtsTokenCount,
      cached: cachedContentTokenCount,
      written: undefined,
      reasoning: thoughtsTokenCount,
    },
    said: [{ role: 'model', parts }],
  }
}

/** The SDK makes the body the message. */
const word = (status: string): unknown => expect.stringContaining(`"status":"${status}"`)

const partsOf = (answer: GenerateContentResponse): Part[] => answer.candidates?.[0]?.content?.parts ?? []

export const generate: Speaker<Content, GenerateContentResponse> = {
  dialect: 'generate',
  connect(url, apiKey, retries = 0) {
    const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url, retryOptions: { attempts: retries + 1 } } })
    return {
      async whole(ask) {
        const answer = await client.models.generateContent(params(ask))
        return answerOf(partsOf(answer), answer)
      },
      // The SDK folds nothing: callers join the parts.
      async folded(ask) {
        const parts: Part[] = []
        let last: GenerateContentResponse | undefined
        for await (const chunk of await client.models.generateContentStream(params(ask))) {
          parts.push(...partsOf(chunk))
          last = chunk
        }
        if (last === undefined) throw new Error('the stream was empty')
        return answerOf(parts, last)
      },
      async *events(ask) {
        yield* await client.models.generateContentStream(params(ask))
      },
    }
  },
  user: (...parts) => [
    {
      role: 'user',
      parts: parts.map((part): Part => {
        if (typeof part === 'string') return { text: part }
        if ('document' in part) return { inlineData: { mimeType: 'application/pdf', data: part.document } }
        return isAddress(part.image)
          ? { fileData: { mimeType: 'image/png', fileUri: part.image } }
          : { inlineData: { mimeType: 'image/png', data: part.image } }
      }),
    },
  ],
  results: list => [
    {
      role: 'user',
      parts: list.map(({ call, text, failed }) => ({
        functionResponse: { ...(call.id && { id: call.id }), name: call.name, response: failed ? { error: text } : { output: text } },
      })),
    },
  ],
  textOf: event =>
    partsOf(event)
      .map(part => (part.thought ? '' : (part.text ?? '')))
      .join(''),
  ends: event => event.candidates?.[0]?.finishReason !== undefined,
  finish: { stop: 'STOP', length: 'MAX_TOKENS', tool: 'STOP', filter: 'SAFETY' },
  errors: { told: ApiError },
  kinds: {
    invalid_request: { of: ApiError, like: { status: 400, message: word('INVALID_ARGUMENT') } },
    not_found: { of: ApiError, like: { status: 404, message: word('NOT_FOUND') } },
    conflict: { of: ApiError, like: { status: 409, message: word('ABORTED') } },
    too_large: { of: ApiError, like: { status: 413, message: word('INVALID_ARGUMENT') } },
    rate_limit: { of: ApiError, like: { status: 429, message: word('RESOURCE_EXHAUSTED') } },
    upstream: { of: ApiError, like: { status: 502, message: word('INTERNAL') } },
    overloaded: { of: ApiError, like: { status: 503, message: word('UNAVAILABLE') } },
  },
}
