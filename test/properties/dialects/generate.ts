import fc from 'fast-check'
import { keyed, mostly } from '../../../cli/cases/words.js'
import { atLeast, list, number, object, pruned, string } from './help.js'
import type { Conversation, Table, Turn, Values } from './table.js'

const candidateOf = (response: Values): Values => object(list(response.candidates)[0])
const partsOf = (response: Values): Values[] => list(object(candidateOf(response).content).parts)

/** Neighbouring texts that only the network separated are one text; its proof is at its end or its beginning. */
function joined(parts: readonly Values[]): Values[] {
  const result: Values[] = []
  for (const part of parts) {
    const last = result.at(-1)
    if (part.text === '' && !part.thoughtSignature) continue
    if (typeof part.text === 'string' && typeof last?.text === 'string' && Boolean(part.thought) === Boolean(last.thought)) {
      last.text += part.text
      const signatures = [last.thoughtSignature, part.thoughtSignature].filter(Boolean)
      if (signatures.length > 0) last.thoughtSignature = signatures.join(' ')
    } else result.push({ ...part })
  }
  return result
}

export const generate: Table = {
  traits: keyed([
    ['thinking', mostly(0.4, fc.constantFrom('level', 'budget', 'none'))],
    ['generation_3', mostly(0.4, fc.constantFrom(['upstream'], ['gemini-3']))],
    ['minimal_level', mostly(0.3, fc.constantFrom(['upstream'], ['flash']))],
    ['no_medium_level', mostly(0.3, fc.constant(['upstream']))],
    ['always_thinks', mostly(0.3, fc.constant(['upstream']))],
    ['no_penalties', mostly(0.3, fc.constant(['upstream']))],
    ['search_with_functions', mostly(0.3, fc.constant(['upstream']))],
    ['thought_signatures', mostly(0.3, fc.boolean())],
    ['json_schema', mostly(0.5, fc.constant(false))],
    ['call_ids', mostly(0.3, fc.constant(false))],
    ['web_search', mostly(0.2, fc.constant(false))],
    ['safety_settings', mostly(0.2, fc.constant([{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'OFF' }]))],
  ]),
  asking: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], generationConfig: { thinkingConfig: { includeThoughts: true } } },
  cannot: ['ids', 'calls.cut'],

  answer: {
    required: ['candidates', 'usageMetadata'],
    properties: {
      promptFeedback: { properties: { blockReason: { const: 'BLOCK_REASON_UNSPECIFIED' } } },
      usageMetadata: {
        required: ['promptTokenCount', 'candidatesTokenCount', 'totalTokenCount'],
        properties: Object.fromEntries(
          [
            'promptTokenCount',
            'cachedContentTokenCount',
            'candidatesTokenCount',
            'thoughtsTokenCount',
            'toolUsePromptTokenCount',
            'totalTokenCount',
          ].map(name => [name, { maximum: 100000 }]),
        ),
      },
      candidates: {
        minItems: 1,
        maxItems: 1,
        items: {
          required: ['content', 'finishReason'],
          properties: {
            index: { const: 0 },
            // For searches, pieces are not distinguished from the whole.
            groundingMetadata: { const: {} },
            citationMetadata: { const: {} },
            logprobsResult: { const: {} },
            finishReason: { enum: ['STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'OTHER', 'PROHIBITED_CONTENT'] },
            content: {
              required: ['parts'],
              properties: {
                role: { const: 'model' },
                parts: {
                  items: {
                    anyOf: [
                      // The proof of a text is a hint, before or after it: only that of a call is certain.
                      { required: ['text'], additionalProperties: false, properties: { text: {}, thought: {} } },
                      { required: ['text'], additionalProperties: false, properties: { text: {} } },
                      { required: ['functionCall'], additionalProperties: false, properties: { functionCall: {}, thoughtSignature: {} } },
                    ],
                  },
                },
              },
            },
          },
        },
      },
    },
  },
  settle(response) {
    const candidate = candidateOf(response)
    const { promptFeedback: _feedback, ...rest } = response
    // A provider that names its calls names them all, each its own way.
    const parts = partsOf(response).map((part, index) =>
      part.functionCall ? { ...part, functionCall: { ...object(part.functionCall), id: `fc_${index}` } } : part,
    )
    const usage = object(response.usageMetadata)
    const promptTokenCount = atLeast(usage.promptTokenCount, usage.cachedContentTokenCount)
    return { ...rest, candidates: [{ ...candidate, content: { role: 'model', parts } }], usageMetadata: { ...usage, promptTokenCount } }
  },

  unfold(response, cut) {
    const { candidates: _candidates, usageMetadata, ...head } = response
    const { content: _content, finishReason, finishMessage, ...more } = candidateOf(response)
    const chunk = (part: Values): Values => ({ ...head, candidates: [{ content: { role: 'model', parts: [part] }, index: 0 }] })
    const events = partsOf(response).flatMap(part => {
      if (typeof part.text !== 'string') return [chunk(part)]
      const { thoughtSignature, ...plain } = part
      const pieces = cut(part.text)
      return pieces.map((text, index) =>
        chunk({ ...plain, text, ...(index === pieces.length - 1 && thoughtSignature !== undefined && { thoughtSignature }) }),
      )
    })
    const last = {
      ...head,
      candidates: [
        {
          ...more,
          content: { role: 'model', parts: [{ text: '' }] },
          finishReason,
          ...(finishMessage !== undefined && { finishMessage }),
          index: 0,
        },
      ],
      usageMetadata,
    }
    return [...events, last]
  },
  strand: () => undefined, // a part of this dialect is whole
  noise: [{ candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, index: 0 }] }],

  fold(events) {
    const result: Values = {}
    const candidate: Values = {}
    const parts: Values[] = []
    for (const event of events) {
      const { candidates, ...rest } = event
      Object.assign(result, rest)
      const { content, ...more } = object(list(candidates)[0])
      Object.assign(candidate, more)
      parts.push(...list(object(content).parts))
    }
    return { ...result, candidates: [{ ...candidate, content: { role: 'model', parts } }] }
  },
  essence(response) {
    const { finishReason } = candidateOf(response)
    const parts = joined(partsOf(response)).map(part => {
      if (!part.functionCall) return part
      const { id: _id, ...call } = object(part.functionCall)
      return { ...part, functionCall: call }
    })
    return pruned({ parts, finishReason, usage: response.usageMetadata })
  },
  said(response) {
    const parts = partsOf(response)
    const usage = object(response.usageMetadata)
    const { finishReason } = candidateOf(response)
    return {
      text: parts
        .filter(({ thought }) => thought !== true)
        .map(part => string(part.text))
        .join(''),
      reasoning: parts
        .filter(({ thought }) => thought === true)
        .map(part => string(part.text))
        .join(''),
      // One proof may hold several, sealed together.
      signatures: parts.flatMap(part => {
        const sealed = Buffer.from(string(part.thoughtSignature), 'base64').toString()
        return sealed.startsWith('sluice.') ? sealed.split(' ') : part.thoughtSignature ? [string(part.thoughtSignature)] : []
      }),
      calls: parts
        .filter(part => part.functionCall)
        .map(part => ({ name: string(object(part.functionCall).name), arguments: object(part.functionCall).args ?? {} })),
      stop:
        finishReason === 'MAX_TOKENS' || finishReason === 'OTHER'
          ? 'limit'
          : ['SAFETY', 'RECITATION', 'PROHIBITED_CONTENT'].includes(string(finishReason))
            ? 'refused'
            : 'end',
      usage: {
        input: number(usage.promptTokenCount) + number(usage.toolUsePromptTokenCount),
        output: number(usage.candidatesTokenCount) + number(usage.thoughtsTokenCount),
        cached: number(usage.cachedContentTokenCount),
        reasoning: number(usage.thoughtsTokenCount),
      },
    }
  },

  faults(events) {
    const found: string[] = []
    const heads = new Set(events.map(({ responseId, modelVersion }) => JSON.stringify([responseId, modelVersion])))
    if (heads.size > 1) found.push(`events differ in responseId or modelVersion: ${[...heads].join(' ')}`)
    events.forEach((event, at) => {
      const candidates = list(event.candidates)
      const [candidate] = candidates
      if (candidate === undefined || candidates.length > 1) found.push(`${at}: ${candidates.length} candidates`)
      else {
        const parts = list(object(candidate.content).parts)
        // A chunk without parts breaks the history that clients keep.
        if (parts.length === 0) found.push(`${at}: no parts`)
        for (const part of parts) {
          const kinds = ['text', 'functionCall', 'inlineData', 'fileData', 'executableCode', 'codeExecutionResult'].filter(
            kind => part[kind] !== undefined,
          )
          if (kinds.length !== 1) found.push(`${at}: a part is ${kinds.join(' and ') || 'nothing'}`)
        }
        const isLast = at === events.length - 1
        if ((candidate.finishReason !== undefined) !== isLast) found.push(`${at}: the reason stands in the last event and there alone`)
        if (isLast && event.usageMetadata === undefined) found.push(`${at}: the last event has no usage`)
      }
    })
    if (events.length === 0) found.push('there is no event')
    return found
  },

  write({ system, turns, tools, temperature, top_p, limit, stops }) {
    return {
      ...(system !== undefined && { systemInstruction: { parts: [{ text: system }] } }),
      contents: turns.flatMap((turn): Values[] =>
        turn.by === 'user'
          ? [{ role: 'user', parts: [{ text: turn.text }] }]
          : [
              {
                role: 'model',
                parts: [
                  ...(turn.text === '' ? [] : [{ text: turn.text }]),
                  ...turn.calls.map(({ id, name, arguments: args }) => ({ functionCall: { id, name, args } })),
                ],
              },
              ...(turn.calls.length === 0
                ? []
                : [
                    {
                      role: 'user',
                      parts: turn.calls.map(({ id, name, result }) => ({ functionResponse: { id, name, response: { output: result } } })),
                    },
                  ]),
            ],
      ),
      ...(tools.length > 0 && {
        tools: [
          {
            functionDeclarations: tools.map(({ name, description, schema }) => ({
              name,
              ...(description && { description }),
              parametersJsonSchema: schema,
            })),
          },
        ],
      }),
      generationConfig: { temperature, topP: top_p, maxOutputTokens: limit, stopSequences: stops },
    }
  },
  read(request): Conversation {
    const turns: Turn[] = []
    const text = (parts: readonly Values[]): string => parts.map(part => string(part.text)).join('')
    for (const { role, parts: all } of list(request.contents)) {
      const parts = list(all)
      if (role === 'model') {
        const calls = parts
          .filter(part => part.functionCall)
          .map(part => {
            const { id, name, args } = object(part.functionCall)
            return { id: string(id), name: string(name), arguments: object(args), result: '' }
          })
        turns.push({ by: 'model', text: text(parts), calls })
        continue
      }
      const last = turns.at(-1)
      parts
        .filter(part => part.functionResponse)
        .forEach((part, index) => {
          // Results are in the order of their calls.
          const call = last?.by === 'model' ? last.calls[index] : undefined
          if (call) call.result = string(object(object(part.functionResponse).response).output)
        })
      const rest = parts.filter(part => !part.functionResponse)
      if (rest.length > 0) turns.push({ by: 'user', text: text(rest) })
    }
    const config = object(request.generationConfig)
    return {
      ...(request.systemInstruction !== undefined && {
        system: list(object(request.systemInstruction).parts)
          .map(part => string(part.text))
          .join('\n\n'),
      }),
      turns,
      tools: list(request.tools)
        .flatMap(tool => list(tool.functionDeclarations))
        .map(({ name, description, parametersJsonSchema: schema }) => ({
          name: string(name),
          ...(string(description) && { description: string(description) }),
          schema: object(schema),
        })),
      temperature: config.temperature as number,
      top_p: config.topP as number,
      limit: config.maxOutputTokens as number,
      stops: config.stopSequences as string[],
    }
  },
}
