// A form (multipart/form-data) that is relayed while it arrives: every part keeps its name, file name, type, bytes and
// order; only the part that names the model is rewritten. Nothing can be sent until that part has arrived.

import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import { asGatewayError, GatewayError } from '../core/errors.js'
import type { Arriving, Exchange } from '../core/exchange.js'
import { AS_BASE64 } from '../core/text.js'
import type { Body, Json, Limits } from '../plan.js'
import { HELD, Passage, Store } from './spool.js'

/** Parts in one form, and bytes of a part that is not a file. */
const MOST_PARTS = 1000
const LARGEST_FIELD = 1024 * 1024

const CRLF = Buffer.from('\r\n')

/** What is done to parts that are texts. */
export interface FormTexts {
  /** The names of the parts, without `[]`. */
  names: ReadonlySet<string>
  /** A text as it is relayed to a model. Throws where it may not pass. */
  masked(text: string, model: string): string
}

/** Where a part that was relayed lies in what was relayed. */
interface Part {
  name: string
  filename?: string
  type?: string
  isFile?: boolean
  from: number
  to: number
}

export class Form {
  private readonly boundary = `sluice${randomBytes(16).toString('hex')}`
  /** The content type of the relayed form. */
  readonly type = `multipart/form-data; boundary=${this.boundary}`
  model = ''
  /** The parts before the model, and the parts after it. */
  private readonly head = new Store()
  private readonly tail = new Passage()
  private readonly parts: Part[] = []
  private written = 0
  private isKnown = false
  /** Texts that wait for the model, since what is done to them may depend on it; and their characters. */
  private readonly texts: { name: string; value: string; type: string | undefined }[] = []
  private waiting = 0

  constructor(
    private readonly modelPart: string,
    private readonly looks?: FormTexts,
  ) {}

  /** Whether the form can be sent again, to another target. */
  get isWhole(): boolean {
    return this.tail.isWhole
  }

  /** The bytes of the form for an upstream, with its name of the model. */
  async *relayed(model: string): AsyncGenerator<Buffer> {
    yield* this.head.read()
    yield Buffer.concat([this.opening(this.modelPart), Buffer.from(model), CRLF])
    yield* this.tail.read()
    yield Buffer.from(`--${this.boundary}--\r\n`)
  }

  /**
   * The form as an object: fields as texts, files as `{ filename, content_type, data }` in base64, repeated parts as lists. Throws if it
   * is longer than `limit`, or the bodies of all requests take too much memory.
   */
  async whole(limit: number, exchange: Exchange): Promise<Body> {
    const chunks: Buffer[] = []
    let length = 0
    for (const source of [this.head.read(), this.tail.read()]) {
      for await (const chunk of source) {
        length += chunk.length
        if (length > limit) throw new GatewayError('too_large', `A form of more than ${limit} bytes cannot be translated for this model.`)
        exchange.hold(chunk.length * AS_BASE64)
        chunks.push(chunk)
      }
    }
    const bytes = Buffer.concat(chunks)
    const body: Body = { [this.modelPart]: this.model }
    for (const { name, filename = '', type = 'application/octet-stream', isFile, from, to } of this.parts) {
      const data = bytes.subarray(from, to)
      addPart(body, name, isFile ? { filename, content_type: type, data: data.toString('base64') } : data.toString('utf8'))
    }
    return body
  }

  /** Names the model, by which it is known what is done to the texts that have come. */
  async name(model: string): Promise<void> {
    this.model = model
    for (const { name, value, type } of this.texts.splice(0)) await this.text(name, value, type)
    this.isKnown = true
  }

  async field(name: string, value: string, type: string | undefined): Promise<void> {
    if (name === this.modelPart) {
      // A second one could be taken for the first by whoever reads it.
      if (!this.isKnown) await this.name(value)
      return
    }
    if (this.isKnown || !this.looks?.names.has(bare(name))) return this.text(name, value, type)
    this.waiting += value.length
    if (this.waiting > LARGEST_FIELD)
      throw new GatewayError('too_large', `The parts before '${this.modelPart}' are larger than ${LARGEST_FIELD} bytes: send it first.`)
    this.texts.push({ name, value, type })
  }

  private text(name: string, value: string, type: string | undefined): Promise<void> {
    const text = this.looks?.names.has(bare(name)) ? this.looks.masked(value, this.model) : value
    return this.part({ name, ...(type !== undefined && type !== 'text/plain' && { type }) }, [Buffer.from(text)])
  }

  async part(facts: Omit<Part, 'from' | 'to'>, content: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void> {
    await this.write(this.opening(facts.name, facts.filename, facts.type))
    const from = this.written
    for await (const chunk of content) await this.write(chunk)
    this.parts.push({ ...facts, from, to: this.written })
    await this.write(CRLF)
  }

  private async write(bytes: Buffer): Promise<void> {
    this.written += bytes.length
    await (this.isKnown ? this.tail : this.head).push(bytes)
  }

  private opening(name: string, filename?: string, type?: string): Buffer {
    const file = filename === undefined ? '' : `; filename="${quoted(filename)}"`
    const kind = type === undefined ? '' : `content-type: ${type.replaceAll(/[\r\n]/g, '')}\r\n`
    return Buffer.from(`--${this.boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"${file}\r\n${kind}\r\n`)
  }

  end(): void {
    this.tail.end()
  }

  fail(error: unknown): void {
    this.tail.fail(error)
  }

  close(): void {
    this.tail.fail(new Error('the exchange is over'))
    void this.head.close()
  }
}

/** Adds a part to the form's object: a repeated name becomes a list, and `name[]` is the list `name`. */
function addPart(body: Body, name: string, value: Json): void {
  const key = bare(name)
  const isList = key !== name
  const known = Object.hasOwn(body, key) ? body[key] : undefined
  const next = known === undefined ? (isList ? [value] : value) : Array.isArray(known) ? [...known, value] : [known, value]
  Object.defineProperty(body, key, { value: next, enumerable: true, configurable: true, writable: true })
}

/** The name of a part without what says that it is one of a list. */
function bare(name: string): string {
  return name.endsWith('[]') ? name.slice(0, -2) : name
}

/** Whether a part of this type is a text. The type of other parts shows that they are files: these need no file name (RFC 7578, 4.2). */
function isText(type = 'text/plain'): boolean {
  return type.startsWith('text/') || type === 'application/json'
}

/** Judges the parts of a form: some of them, and all of them. Throws what is wrong with them. */
export interface FormCheck {
  some(body: Body): void
  all(body: Body): void
}

/** A name, quoted as browsers do in forms. */
function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

/**
 * Resolves when the part that names the model has come; the rest comes while it is relayed.
 * @param arrival the body of the exchange, without its coding
 * @param usual the model of a form that names none; absent: it is refused
 * @param check judges parts that are texts when they come, and the form when all of it is there; of a file it sees no bytes
 * @param texts what is done to parts that are texts, once the model is known
 */
export function readForm(
  exchange: Exchange,
  arrival: Arriving,
  modelPart: string,
  limits: Limits,
  usual?: string,
  check?: FormCheck,
  texts?: FormTexts,
): Promise<Form> {
  return new Promise((resolve, reject) => {
    const form = new Form(modelPart, texts)
    exchange.onOver(() => form.close())
    let isSettled = false
    const fail = (thrown: unknown): void => {
      const error = asGatewayError(thrown)
      form.fail(error)
      parser.destroy()
      if (!isSettled) {
        isSettled = true
        reject(error)
      }
    }
    let parser: InstanceType<typeof Busboy>
    try {
      parser = new Busboy({
        headers: { ...exchange.headers, 'content-type': exchange.headers['content-type'] as string },
        preservePath: true,
        limits: { parts: MOST_PARTS, fieldSize: LARGEST_FIELD, fieldNameSize: 1000 },
        isPartAFile: (name, type, filename) => filename !== undefined || (name !== modelPart && !isText(type)),
      })
    } catch {
      reject(unreadable('its content type has no boundary, or one that is too long: send multipart/form-data; boundary=…'))
      return
    }
    // The parser fails only where the form ends.
    const cut = (): void => fail(unreadable('it ends before its closing boundary'))
    // Parts are handled in the order of their arrival, however long each takes.
    let queue: Promise<unknown> = Promise.resolve()
    const next = (work: () => Promise<void>): void => {
      queue = queue.then(work).catch(fail)
    }
    // A file pauses the parser, but fields arrive whole, so the client is paused while too many of their bytes wait.
    let waiting = 0
    const seen: Body = {}
    const goOn = (): void => {
      if (waiting <= HELD && !parser.writableNeedDrain) arrival.resume()
    }
    let count = 0
    parser.on('field', (name: string | undefined, value, isNameCut, isCut, _encoding, type) => {
      const number = ++count
      waiting += value.length
      next(async () => {
        if (name === undefined) throw unnamed(number)
        if (isNameCut || isCut)
          throw new GatewayError('too_large', `The part '${name.slice(0, 100)}' is larger than ${LARGEST_FIELD} bytes.`, { param: name })
        if (check) {
          addPart(seen, name, value)
          check.some({ [bare(name)]: seen[bare(name)] })
        }
        await form.field(name, value, type)
        waiting -= value.length
        goOn()
        if (name === modelPart && !isSettled) {
          isSettled = true
          resolve(form)
        }
      })
    })
    parser.on('file', (name: string | undefined, stream: Readable, filename: string | undefined, _encoding: string, type: string) => {
      const number = ++count
      stream.on('error', cut)
      next(async () => {
        if (name === undefined) throw unnamed(number)
        // A file is no model, but some servers take one without a file name for a text.
        if (name === modelPart) return void stream.resume()
        if (check) addPart(seen, name, { filename: filename ?? '', content_type: type, data: '' })
        return form.part({ name, ...(filename !== undefined && { filename }), type, isFile: true }, stream)
      })
    })
    parser.on('partsLimit', () => fail(new GatewayError('too_large', `A form may have ${MOST_PARTS} parts at most.`)))
    parser.on('error', cut)
    parser.on('finish', () =>
      next(async () => {
        if (check) check.all(usual !== undefined && !Object.hasOwn(seen, modelPart) ? { ...seen, [modelPart]: usual } : seen)
        if (!isSettled && usual !== undefined) await form.name(usual)
        form.end()
        if (isSettled) return
        isSettled = true
        if (usual !== undefined) {
          resolve(form)
          return
        }
        reject(
          new GatewayError('invalid_request', `Missing required parameter: '${modelPart}'.`, {
            param: modelPart,
            code: 'missing_required_parameter',
          }),
        )
      }),
    )
    parser.on('drain', goOn)
    arrival.receive(limits, {
      data(chunk) {
        if (!parser.destroyed && (!parser.write(chunk) || waiting > HELD)) arrival.pause()
      },
      end() {
        if (!parser.destroyed) parser.end()
      },
      fail,
    })
  })
}

const unreadable = (why: string): GatewayError =>
  new GatewayError('invalid_request', `The form cannot be read: ${why}.`, { code: 'invalid_form' })

const unnamed = (number: number): GatewayError =>
  new GatewayError(
    'invalid_request',
    `Part ${number} of the form has no name: its content-disposition must be form-data with name="…", the parameter's name.`,
    { code: 'invalid_form' },
  )
