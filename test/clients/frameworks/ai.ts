// The AI SDK, with a provider package for each dialect.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, type LanguageModel, type LanguageModelUsage, type ModelMessage, Output, stepCountIs, streamText, tool } from 'ai'
import { expect } from 'vitest'
import type { Dialect, Lane } from '../gateway.js'
import { type Kit, type Mode, Place, type Tool, type Work } from './framework.js'

// It warns of model names that it does not know, which are all of them here.
globalThis.AI_SDK_LOG_WARNINGS = false

type Options = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>

interface Package {
  name: string
  dialect: Dialect
  connect(url: string, apiKey: string): (model: string) => LanguageModel
  /** What every call is given, and one that is to reason. */
  always?: Options
  reasoning: Options
  keeps(lane: Lane, mode: Mode): boolean
  thinks: boolean
  shows: boolean
}

const PACKAGES: Package[] = [
  {
    name: 'openai, chat',
    dialect: 'chat',
    connect: (url, apiKey) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat,
    reasoning: { openai: { reasoningEffort: 'high', forceReasoning: true } },
    keeps: () => false,
    thinks: false,
    shows: false,
  },
  {
    name: 'openai-compatible',
    dialect: 'chat',
    connect: (url, apiKey) =>
      createOpenAICompatible({ name: 'google', baseURL: `${url}/v1`, apiKey, includeUsage: true, supportsStructuredOutputs: true }),
    reasoning: { google: { reasoningEffort: 'high' } },
    // The place that one vendor gave to signatures of calls is known, and comes back where the provider is named so.
    keeps: lane => lane.speaks === 'generate',
    thinks: true,
    shows: false,
  },
  {
    name: 'openai, responses',
    dialect: 'responses',
    connect: (url, apiKey) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses,
    // What is not kept by the provider comes whole with every request.
    always: { openai: { store: false } },
    reasoning: { openai: { reasoningEffort: 'high', reasoningSummary: 'auto', forceReasoning: true } },
    keeps: () => true,
    thinks: true,
    shows: true,
  },
  {
    name: 'anthropic',
    dialect: 'messages',
    connect: (url, apiKey) => createAnthropic({ baseURL: `${url}/v1`, apiKey }),
    always: { anthropic: { structuredOutputMode: 'outputFormat' } },
    reasoning: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2048 } } },
    keeps: () => true,
    thinks: true,
    shows: true,
  },
  {
    name: 'google',
    dialect: 'generate',
    connect: (url, apiKey) => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey }),
    reasoning: { google: { thinkingConfig: { includeThoughts: true, thinkingBudget: 8192 } } },
    keeps: () => true,
    thinks: true,
    shows: true,
  },
]

export const kits: Kit<ModelMessage>[] = PACKAGES.map(({ name, dialect, connect, always, reasoning, keeps, thinks, shows }) => ({
  name: `ai with ${name}`,
  dialect,
  keeps,
  thinks,
  shows,
  connect(url, key) {
    const modelOf = connect(url, key)
    const asked = ({ model, history, system, tools, reasons, schema }: Work<ModelMessage>) => ({
      model: modelOf(model),
      messages: history,
      ...(system !== undefined && { system }),
      maxRetries: 0,
      stopWhen: stepCountIs(5),
      providerOptions: merged(always, reasons ? reasoning : undefined),
      ...(tools && {
        tools: Object.fromEntries(tools.map(one => [one.name, toolOf(one)])),
      }),
      ...(schema && { output: Output.object({ schema }) }),
    })
    return async (mode, work, heard) => {
      if (mode === 'whole') {
        const answer = await generateText(asked(work))
        expectEnd(answer.finishReason)
        return {
          text: answer.text,
          thought: answer.steps.map(step => step.reasoningText ?? '').join(''),
          output: work.schema && answer.output,
          usage: usageOf(answer.totalUsage),
          history: [...work.history, ...answer.response.messages],
        }
      }
      const answer = streamText({ ...asked(work), onError: () => undefined })
      let thought = ''
      for await (const part of answer.fullStream) {
        if (part.type === 'error') throw part.error
        if (part.type === 'text-delta') heard?.(part.text)
        if (part.type === 'reasoning-delta') thought += part.text
      }
      expectEnd(await answer.finishReason)
      return {
        text: await answer.text,
        thought,
        output: work.schema && (await answer.output),
        usage: usageOf(await answer.totalUsage),
        history: [...work.history, ...(await answer.response).messages],
      }
    }
  },
  user: (text, image) => ({
    role: 'user',
    content: [{ type: 'text', text }, ...(image === undefined ? [] : [{ type: 'image' as const, image, mediaType: 'image/png' }])],
  }),
  failure: status => ({ name: 'AI_APICallError', statusCode: status, isRetryable: status === 429 || status >= 500 }),
}))

const toolOf = ({ description, run }: Tool) =>
  tool({
    description,
    inputSchema: Place,
    execute: async input => run(input),
    toModelOutput: ({ output }) =>
      typeof output === 'string'
        ? { type: 'text', value: output }
        : {
            type: 'content',
            value: [
              { type: 'text', text: output.text },
              { type: 'image-data', data: output.image, mediaType: 'image/png' },
            ],
          },
  })

const merged = (...all: (Options | undefined)[]): Options => {
  const whole: Options = {}
  for (const options of all) for (const [name, more] of Object.entries(options ?? {})) whole[name] = { ...whole[name], ...more }
  return whole
}

/** A reason that the package did not understand would be an answer whose end is not known. */
const expectEnd = (reason: string): void => expect(['stop', 'length', 'content-filter', 'tool-calls']).toContain(reason)

const usageOf = ({ inputTokens, outputTokens, inputTokenDetails }: LanguageModelUsage) => ({
  input: inputTokens,
  output: outputTokens,
  cached: inputTokenDetails.cacheReadTokens,
})
