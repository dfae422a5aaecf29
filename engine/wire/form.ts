// A form (multipart/form-data) that is relayed while it arrives: every part keeps its name, file name, type, bytes and
// order; only the part that names the model is rewritten. Nothing can be sent until that part has arrived.

import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import { asGatewayError, GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Body, Json, Limits } from '../plan.js'
import { HELD, Passage, Store } from './spool.js'

/** Parts in one form, and bytes of a part that is not a file. */
const MOST_PARTS = 1000
const LARGEST_FIELD = 1024 * 1024

const CRLF = Buffer.from('\r\n')

/** A relayed part, and its position in the relayed bytes. */
interface Part {
  name: string
  filename?: string
  type?: string
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

  constructor(private readonly modelPart: string) {}

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

  /** The form as an object: fields as texts, files as `{ filename, content_type, data }` in base64, repeated parts as lists. */
  async whole(limit: number): Promise<Body> {
    const chunks: Buffer[] = []
    let length = 0
    for (const source of [this.head.read(), this.tail.read()]) {
      for await (const chunk of source) {
        length += chunk.length
        if (length > limit) throw new GatewayError('too_large', `A form of more than ${limit} bytes cannot be translated for this model.`)
        chunks.push(chunk)
      }
    }
    const bytes = Buffer.concat(chunks)
    const body: Body = { [this.modelPart]: this.model }
    for (const { name, filename, type, from, to } of this.parts) {
      const data = bytes.subarray(from, to)
      const value =
        filename === undefined
          ? data.toString('utf8')
          : { filename, content_type: type ?? 'application/octet-stream', data: data.toString('base64') }
      addPart(body, name, value)
    }
    return body
  }

  /** Sets the model of a complete form that does not name one. */
  name(model: string): void {
    this.isKnown = true
    this.model = model
  }

  async field(name: string, value: string, type: string | undefined): Promise<void> {
    if (name === this.modelPart) {
      // A second model part could override the first in some readers.
      if (this.isKnown) return
      this.isKnown = true
      this.model = value
      return
    }
    await this.part({ name, ...(type !== undefined && type !== 'text/plain' && { type }) }, [Buffer.from(value)])
  }

  async part(facts: { name: string; filename?: string; type?: string }, content: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void> {
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
  const isList = name.endsWith('[]')
  const key = isList ? name.slice(0, -2) : name
  const known = Object.hasOwn(body, key) ? body[key] : undefined
  const next = known === undefined ? (isList ? [value] : value) : Array.isArray(known) ? [...known, value] : [known, value]
  Object.defineProperty(body, key, { value: next, enumerable: true, configurable: true, writable: true })
}

/** Checks single parts of a form, and the whole form. Throws what is wrong with them. */
export interface FormCheck {
  some(body: Body): void
  all(body: Body): void
}

/** A name, quoted as browsers do in forms. */
function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

/**
 * Resolves when the model's part has arrived; the rest arrives while the form is relayed.
 * @param usual the model of a form that names none; undefined: such a form is refused
 * @param check checks text parts when they arrive, and the form when it is complete; it never sees the bytes of a file
 */
export function readForm(exchange: Exchange, modelPart: string, limits: Limits, usual?: string, check?: FormCheck): Promise<Form> {
  return new Promise((resolve, reject) => {
    const form = new Form(modelPart)
    exchange.onOver(() => form.close())
    let isSettled = false
    const fail = (thrown: unknown): void => {
      const error =
        thrown instanceof GatewayError
          ? thrown
          : new GatewayError('invalid_request', `The form cannot be read: ${plain(thrown)}.`, { code: 'invalid_form' })
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
      })
    } catch (error) {
      reject(new GatewayError('invalid_request', `The form cannot be read: ${plain(error)}.`, { code: 'invalid_form' }))
      return
    }
    // Parts are handled in the order of their arrival, however long each takes.
    let queue: Promise<unknown> = Promise.resolve()
    const next = (work: () => Promise<void>): void => {
      queue = queue.then(work).catch(fail)
    }
    // A file pauses the parser, but fields arrive whole, so the client is paused while too many of their bytes wait.
    let waiting = 0
    const seen: Body = {}
    const goOn = (): void => {
      if (waiting <= HELD && !parser.writableNeedDrain) exchange.resume()
    }
    parser.on('field', (name, value, isNameCut, isCut, _encoding, type) => {
      waiting += value.length
      next(async () => {
        if (isNameCut || isCut)
          throw new GatewayError('too_large', `The part '${name.slice(0, 100)}' is larger than ${LARGEST_FIELD} bytes.`, { param: name })
        if (check) {
          addPart(seen, name, value)
          const key = name.endsWith('[]') ? name.slice(0, -2) : name
          check.some({ [key]: seen[key] })
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
    parser.on('file', (name: string, stream: Readable, filename: string, _encoding: string, type: string) => {
      stream.on('error', fail)
      next(() => {
        if (check) addPart(seen, name, { filename: filename ?? '', content_type: type, data: '' })
        return form.part({ name, filename: filename ?? '', type }, stream)
      })
    })
    parser.on('partsLimit', () => fail(new GatewayError('too_large', `A form may have ${MOST_PARTS} parts at most.`)))
    parser.on('error', fail)
    parser.on('finish', () =>
      next(async () => {
        if (check) check.all(usual !== undefined && !Object.hasOwn(seen, modelPart) ? { ...seen, [modelPart]: usual } : seen)
        form.end()
        if (isSettled) return
        isSettled = true
        if (usual !== undefined) {
          form.name(usual)
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
    exchange.receive(limits, {
      data(chunk) {
        if (!parser.destroyed && (!parser.write(chunk) || waiting > HELD)) exchange.pause()
      },
      end() {
        if (!parser.destroyed) parser.end()
      },
      fail,
    })
  })
}

function plain(error: unknown): string {
  return asGatewayError(error) === error ? (error as Error).message : error instanceof Error ? error.message : String(error)
}
