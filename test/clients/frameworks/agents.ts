// The Agents SDK, with its two models.

import {
  Agent,
  type AgentInputItem,
  type Model,
  type ModelSettings,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  tool,
} from '@openai/agents'
import OpenAI from 'openai'
import type { Dialect } from '../gateway.js'
import { type Kit, Place, type Tool, type Work } from './framework.js'

const MODELS = { chat: OpenAIChatCompletionsModel, responses: OpenAIResponsesModel }
type Spoken = keyof typeof MODELS & Dialect
export const DIALECTS = Object.keys(MODELS) as Spoken[]

export const runner = new Runner({ tracingDisabled: true })

export function connect(dialect: Spoken, url: string, apiKey: string): (model: string) => Model {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0, logLevel: 'off' })
  return model => new MODELS[dialect](client, model)
}

export const toolOf = ({ name, description, run }: Tool) =>
  tool({
    name,
    description,
    parameters: Place,
    async execute(input) {
      const result = run(input)
      if (typeof result === 'string') return result
      return [
        { type: 'text' as const, text: result.text },
        { type: 'image' as const, image: { data: result.image, mediaType: 'image/png' } },
      ]
    },
  })

/** What is not kept by the provider comes whole with every request. */
const reasoning: ModelSettings = {
  store: false,
  providerData: { include: ['reasoning.encrypted_content'] },
  reasoning: { effort: 'high', summary: 'auto' },
}

export const kits: Kit<AgentInputItem>[] = DIALECTS.map(dialect => ({
  name: `agents, ${dialect}`,
  dialect,
  connect(url, key) {
    const modelOf = connect(dialect, url, key)
    const agentOf = ({ model, system, tools, reasons, schema }: Work<AgentInputItem>) =>
      new Agent({
        name: 'Agent',
        model: modelOf(model),
        ...(system !== undefined && { instructions: system }),
        tools: (tools ?? []).map(toolOf),
        modelSettings: {
          ...(reasons && (dialect === 'responses' ? reasoning : { reasoning: { effort: 'high' } })),
        },
        ...(schema && { outputType: schema }),
      })
    return async (mode, work, heard) => {
      const agent = agentOf(work)
      const result = mode === 'whole' ? await runner.run(agent, work.history) : await runner.run(agent, work.history, { stream: true })
      if ('toStream' in result) {
        for await (const event of result)
          if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') heard?.(event.data.delta)
        await result.completed
        if (result.error) throw result.error
      }
      const { usage } = result.runContext
      const final: unknown = result.finalOutput
      return {
        text: typeof final === 'string' ? final : '',
        thought: result.newItems
          .flatMap(item => (item.type === 'reasoning_item' ? item.rawItem.content : []))
          .map(part => part.text)
          .join(''),
        output: work.schema && final,
        usage: {
          input: usage.inputTokens,
          output: usage.outputTokens,
          cached: usage.inputTokensDetails.reduce((sum, one) => sum + (one['cached_tokens'] ?? 0), 0),
        },
        history: result.history,
      }
    }
  },
  user: (text, image) => ({
    role: 'user',
    content: [
      { type: 'input_text', text },
      ...(image === undefined ? [] : [{ type: 'input_image' as const, image: `data:image/png;base64,${image}` }]),
    ],
  }),
  // Beside the calls of a whole answer it keeps what it does not know, and nothing of a stream.
  keeps: (lane, mode) => dialect === 'responses' || (lane.speaks === 'generate' && mode === 'whole'),
  thinks: dialect === 'responses',
  shows: dialect === 'responses',
  failure: status => ({ status }),
}))
