// A provider's requests in a neutral form, so that one table of expectations holds for every provider.

import type Anthropic from '@anthropic-ai/sdk'
import type { Content, FunctionDeclaration, Part as GenerateRestPart, GenerationConfig, ToolConfig } from '@google/genai'
import type OpenAI from 'openai'
import type { RecordedRequest } from '../../cli/simulator/server.js'

export type Part =
  | { kind: 'text'; text: string }
  /** Base64, an address, or the text itself. */
  | { kind: 'image'; source: string }
  | { kind: 'document'; source: string }
  | { kind: 'call'; id: string | undefined; name: string; input: unknown }
  /** `failed` is undefined where the dialect has no word for it. */
  | { kind: 'result'; id: string | undefined; text: string; failed: boolean | undefined; media: string[] }
  | { kind: 'thinking'; text: string; signature: string | undefined }

export interface Turn {
  role: 'user' | 'assistant' | 'system'
  parts: Part[]
}

export interface Heard {
  dialect: 'chat' | 'messages' | 'generate' | 'responses'
  model: string
  /** Instructions before the conversation. */
  system: string[]
  /** Neighbours of one role are one turn. */
  turns: Turn[]
  tools: { name: string; description: string | undefined; schema: unknown }[]
  choice: 'auto' | 'none' | 'any' | { name: string } | undefined
  limit: number | undefined
  stops: string[]
  schema: unknown
  /** Whether reasoning was requested. */
  reasons: boolean
  headers: Record<string, string>
  body: string
}

export function read(request: RecordedRequest): Heard {
  const { path, headers, body } = request
  const shared = { headers, body }
  if (path.endsWith('/chat/completions')) return { ...readChat(JSON.parse(body)), ...shared }
  if (path.endsWith('/messages')) return { ...readMessages(JSON.parse(body)), ...shared }
  if (path.endsWith('/responses')) return { ...readResponses(JSON.parse(body)), ...shared }
  const [, model, method] = /\/models\/(.+):(\w+)$/.exec(path) ?? []
  if (model === undefined || !method?.toLowerCase().endsWith('generatecontent')) throw new Error(`no conversation was asked at ${path}`)
  return { ...readGenerate(decodeURIComponent(model), JSON.parse(body)), ...shared }
}

/** All parts of a kind, in order. */
export function partsOf<Kind extends Part['kind']>(heard: Heard, kind: Kind): Extract<Part, { kind: Kind }>[] {
  return heard.turns.flatMap(turn => turn.parts.filter((part): part is Extract<Part, { kind: Kind }> => part.kind === kind))
}

/** What was said in turns of a role, as one text. */
export function textOf(heard: Heard, role: Turn['role']): string {
  return heard.turns
    .filter(turn => turn.role === role)
    .flatMap(turn => turn.parts)
    .map(part => (part.kind === 'text' ? part.text : ''))
    .join('\n')
}

type Read = Omit<Heard, 'headers' | 'body'>

/** Neighbours of one role become one turn; instructions before the first turn are taken out. */
function conversation(all: Turn[]): { system: string[]; turns: Turn[] } {
  const first = all.findIndex(turn => turn.role !== 'system')
  const lead = first < 0 ? all.length : first
  const turns: Turn[] = []
  for (const { role, parts } of all.slice(lead)) {
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else turns.push({ role, parts: [...parts] })
  }
  return { system: all.slice(0, lead).flatMap(turn => turn.parts.map(part => (part.kind === 'text' ? part.text : ''))), turns }
}

const said = (text: string): Part => ({ kind: 'text', text })
/** Base64 out of a data URI; another address as it is. */
const inlined = (url: string): string => url.replace(/^data:[^,]*,/, '')
const parsed = (text: string): unknown => (text === '' ? {} : JSON.parse(text))

// --- chat ---------------------------------------------------------------------------------------------------------------

type ChatBlocks = { thinking_blocks?: { thinking?: string; signature?: string; data?: string }[] }
type ChatSigned = { extra_content?: { google?: { thought_signature?: string } } }

/** The choice of a tool in the words of one vendor; `nameOf` gives the function that it names. */
function chosen<Choice extends object>(
  choice: Choice | 'auto' | 'none' | 'required' | undefined,
  nameOf: (choice: Choice) => string | undefined,
): Heard['choice'] {
  if (choice === 'required') return 'any'
  if (typeof choice === 'string' || choice === undefined) return choice
  const name = nameOf(choice)
  return name === undefined ? 'auto' : { name }
}

function readChat(body: OpenAI.ChatCompletionCreateParams): Read {
  const turns = body.messages.map((message): Turn => {
    switch (message.role) {
      case 'system':
      case 'developer':
        return { role: 'system', parts: chatParts(message.content) }
      case 'assistant':
        return {
          role: 'assistant',
          parts: [
            ...((message as ChatBlocks).thinking_blocks ?? []).map(
              (block): Part => ({ kind: 'thinking', text: block.thinking ?? '', signature: block.signature ?? block.data }),
            ),
            ...chatParts(message.content),
            ...(message.tool_calls ?? []).flatMap((call): Part[] => {
              const signature = (call as ChatSigned).extra_content?.google?.thought_signature
              const signed: Part[] = signature === undefined ? [] : [{ kind: 'thinking', text: '', signature }]
              return call.type === 'function'
                ? [...signed, { kind: 'call', id: call.id, name: call.function.name, input: parsed(call.function.arguments) }]
                : [...signed, { kind: 'call', id: call.id, name: call.custom.name, input: call.custom.input }]
            }),
          ],
        }
      case 'tool':
        return { role: 'user', parts: [resultOf(message.tool_call_id, chatParts(message.content), undefined)] }
      case 'function':
        return { role: 'user', parts: [resultOf(message.name, chatParts(message.content), undefined)] }
      default:
        return { role: 'user', parts: chatParts(message.content) }
    }
  })
  const { tool_choice: choice, response_format: format, stop } = body
  return {
    dialect: 'chat',
    model: body.model,
    ...conversation(turns),
    tools: (body.tools ?? []).flatMap(tool =>
      tool.type === 'function'
        ? [{ name: tool.function.name, description: tool.function.description, schema: tool.function.parameters }]
        : [],
    ),
    choice: chosen(choice, one => (one.type === 'function' ? one.function.name : undefined)),
    limit: body.max_completion_tokens ?? body.max_tokens ?? undefined,
    stops: [stop ?? []].flat(),
    schema: format?.type === 'json_schema' ? format.json_schema.schema : undefined,
    reasons: typeof body.reasoning_effort === 'string' && body.reasoning_effort !== 'none',
  }
}

type ChatContent = OpenAI.ChatCompletionMessageParam['content']

function chatParts(content: ChatContent): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [said(content)]
  return (content ?? []).flatMap((part): Part[] => {
    if (part.type === 'text') return [said(part.text)]
    if (part.type === 'image_url') return [{ kind: 'image', source: inlined(part.image_url.url) }]
    if (part.type === 'file') return [{ kind: 'document', source: inlined(part.file.file_data ?? part.file.file_id ?? '') }]
    if (part.type === 'refusal') return [said(part.refusal)]
    throw new Error(`a part of type ${part.type} was not expected`)
  })
}

function resultOf(id: string | undefined, parts: Part[], failed: boolean | undefined): Part {
  return {
    kind: 'result',
    id,
    text: parts.map(part => (part.kind === 'text' ? part.text : '')).join(''),
    failed,
    media: parts.flatMap(part => (part.kind === 'image' || part.kind === 'document' ? [part.source] : [])),
  }
}

// --- messages -----------------------------------------------------------------------------------------------------------

function readMessages(body: Anthropic.MessageCreateParams): Read {
  const turns = body.messages.map((message): Turn => ({ role: message.role as Turn['role'], parts: messageParts(message.content) }))
  const { system, tool_choice: choice, output_config: output, thinking } = body
  const { system: leading, turns: conversed } = conversation(turns)
  return {
    dialect: 'messages',
    model: body.model,
    system: [...(typeof system === 'string' ? [system] : (system ?? []).map(block => block.text)), ...leading],
    turns: conversed,
    tools: (body.tools ?? []).flatMap(tool =>
      'input_schema' in tool ? [{ name: tool.name, description: tool.description, schema: tool.input_schema }] : [],
    ),
    choice: choice === undefined ? undefined : choice.type === 'tool' ? { name: choice.name } : choice.type,
    limit: body.max_tokens,
    stops: body.stop_sequences ?? [],
    schema: output?.format?.schema,
    reasons: thinking?.type === 'enabled' || thinking?.type === 'adaptive',
  }
}

function messageParts(content: Anthropic.MessageParam['content']): Part[] {
  if (typeof content === 'string') return [said(content)]
  return content.map((block): Part => {
    switch (block.type) {
      case 'text':
        return said(block.text)
      case 'image':
        return { kind: 'image', source: block.source.type === 'base64' ? block.source.data : 'url' in block.source ? block.source.url : '' }
      case 'document': {
        const { source } = block
        return { kind: 'document', source: 'data' in source ? source.data : 'url' in source ? source.url : JSON.stringify(source) }
      }
      case 'tool_use':
        return { kind: 'call', id: block.id, name: block.name, input: block.input }
      case 'tool_result':
        return resultOf(
          block.tool_use_id,
          block.content === undefined ? [] : messageParts(block.content as Anthropic.MessageParam['content']),
          block.is_error === true,
        )
      case 'thinking':
        return { kind: 'thinking', text: block.thinking, signature: block.signature }
      case 'redacted_thinking':
        return { kind: 'thinking', text: '', signature: block.data }
      default:
        throw new Error(`a block of type ${block.type} was not expected`)
    }
  })
}

// --- generate -----------------------------------------------------------------------------------------------------------

interface GenerateBody {
  contents: Content[]
  systemInstruction?: Content
  tools?: { functionDeclarations?: FunctionDeclaration[] }[]
  toolConfig?: ToolConfig
  generationConfig?: GenerationConfig
}

function readGenerate(model: string, body: GenerateBody): Read {
  const { generationConfig: config = {}, toolConfig } = body
  const { mode, allowedFunctionNames } = toolConfig?.functionCallingConfig ?? {}
  const turns = body.contents.map(
    (content): Turn => ({
      role: content.role === 'model' ? 'assistant' : 'user',
      parts: (content.parts ?? []).flatMap(generateParts),
    }),
  )
  const { thinkingConfig } = config
  const modes = { AUTO: 'auto', VALIDATED: 'auto', ANY: 'any', NONE: 'none' } as const
  return {
    dialect: 'generate',
    model,
    system: (body.systemInstruction?.parts ?? []).map(part => part.text ?? ''),
    turns: conversation(turns).turns,
    tools: (body.tools ?? [])
      .flatMap(tool => tool.functionDeclarations ?? [])
      .map(one => ({ name: one.name ?? '', description: one.description, schema: one.parametersJsonSchema ?? one.parameters })),
    choice:
      mode === undefined
        ? undefined
        : mode === 'ANY' && allowedFunctionNames?.length === 1
          ? { name: allowedFunctionNames[0] ?? '' }
          : modes[mode as keyof typeof modes],
    limit: config.maxOutputTokens,
    stops: config.stopSequences ?? [],
    schema: config.responseJsonSchema ?? config.responseSchema,
    reasons: thinkingConfig !== undefined && thinkingConfig.thinkingBudget !== 0,
  }
}

function generateParts(part: GenerateRestPart): Part[] {
  const { thoughtSignature: signature, functionCall: call, functionResponse: answer, inlineData, fileData } = part
  const signed: Part[] = signature === undefined ? [] : [{ kind: 'thinking', text: '', signature }]
  if (call) return [...signed, { kind: 'call', id: call.id, name: call.name ?? '', input: call.args ?? {} }]
  if (answer) {
    const { output, error } = (answer.response ?? {}) as { output?: unknown; error?: unknown }
    const told = output ?? error ?? answer.response
    const media = (answer.parts ?? []).map(one => one.inlineData?.data ?? one.fileData?.fileUri ?? '')
    const text = typeof told === 'string' ? told : JSON.stringify(told)
    return [{ kind: 'result', id: answer.id, text, failed: error !== undefined, media }]
  }
  const source = inlineData?.data ?? fileData?.fileUri
  if (source !== undefined) {
    const type = inlineData?.mimeType ?? fileData?.mimeType ?? ''
    return [{ kind: type.startsWith('image/') ? 'image' : 'document', source }]
  }
  if (part.thought) return [...signed, { kind: 'thinking', text: part.text ?? '', signature: undefined }]
  return part.text ? [...signed, said(part.text)] : signed
}

// --- responses ----------------------------------------------------------------------------------------------------------

function readResponses(body: OpenAI.Responses.ResponseCreateParams): Read {
  const items = typeof body.input === 'string' ? [{ role: 'user' as const, content: body.input }] : (body.input ?? [])
  const turns = items.map((item): Turn => {
    if ('role' in item) {
      const role = item.role === 'developer' ? 'system' : item.role
      return { role: role as Turn['role'], parts: responseParts('content' in item ? item.content : []) }
    }
    switch (item.type) {
      case 'function_call':
        return { role: 'assistant', parts: [{ kind: 'call', id: item.call_id, name: item.name, input: parsed(item.arguments) }] }
      case 'function_call_output':
        return { role: 'user', parts: [resultOf(item.call_id, responseParts(item.output), undefined)] }
      case 'reasoning': {
        const text = item.summary.map(part => part.text).join('')
        return { role: 'assistant', parts: [{ kind: 'thinking', text, signature: item.encrypted_content ?? undefined }] }
      }
      default:
        throw new Error(`an item of type ${item.type} was not expected`)
    }
  })
  const { instructions, tool_choice: choice, text, reasoning } = body
  const { system, turns: conversed } = conversation(turns)
  return {
    dialect: 'responses',
    model: body.model ?? '',
    system: [...(instructions ? [instructions] : []), ...system],
    turns: conversed,
    tools: (body.tools ?? []).flatMap(tool =>
      tool.type === 'function' ? [{ name: tool.name, description: tool.description ?? undefined, schema: tool.parameters }] : [],
    ),
    choice: chosen(choice, one => (one.type === 'function' ? one.name : undefined)),
    limit: body.max_output_tokens ?? undefined,
    stops: [],
    schema: text?.format?.type === 'json_schema' ? text.format.schema : undefined,
    reasons: typeof reasoning?.effort === 'string' && reasoning.effort !== 'none',
  }
}

function responseParts(content: string | readonly object[]): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [said(content)]
  return (content as readonly OpenAI.Responses.ResponseInputContent[]).map((part): Part => {
    if (part.type === 'input_image') return { kind: 'image', source: inlined(part.image_url ?? part.file_id ?? '') }
    if (part.type === 'input_file') return { kind: 'document', source: inlined(part.file_data ?? part.file_url ?? part.file_id ?? '') }
    return said('text' in part ? part.text : '')
  })
}
