// The statements of docs/http.md, at a socket: what the gateway does itself, and what the server's library decides before it.

import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { settle, still } from '../polling.js'

let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway
beforeAll(async () => {
  simulator = await startSimulator()
  gateway = await startGateway(simulated(simulator.url, ['sim'], ['openai']))
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

interface Talk {
  socket: Socket
  /** All that came until the gateway closed its side, or until `until` was there. */
  heard(until?: string): Promise<{ text: string; isClosed: boolean }>
}

function talk(options: { allowHalfOpen?: boolean } = {}): Talk {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect({ host: hostname, port: Number(port), ...options })
  let text = ''
  let isClosed = false
  const waiting = new Set<() => void>()
  const look = (): void => {
    for (const one of waiting) one()
  }
  socket.on('data', piece => {
    text += piece.toString('latin1')
    look()
  })
  const over = (): void => {
    isClosed = true
    look()
  }
  socket.on('end', over).on('close', over).on('error', over)
  return {
    socket,
    heard: until =>
      new Promise(done => {
        const check = (): void => {
          if (!isClosed && (until === undefined || !text.includes(until))) return
          waiting.delete(check)
          done({ text, isClosed })
        }
        waiting.add(check)
        check()
      }),
  }
}

const BODY = JSON.stringify({ model: 'openai/sim', messages: [{ role: 'user', content: 'Hi' }] })
const HEAD = `Host: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n`
const POST = `POST /v1/chat/completions HTTP/1.1\r\n${HEAD}`
const WHOLE = `${POST}Content-Length: ${BODY.length}\r\n\r\n${BODY}`
const HEALTH = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'

/** What is answered to some bytes, and whether the connection is closed behind it. */
async function answered(bytes: string, until?: string): Promise<{ text: string; isClosed: boolean }> {
  const { socket, heard } = talk()
  socket.write(bytes)
  const result = await heard(until)
  socket.destroy()
  return result
}

/** What is answered to bytes that come in several reads: each piece is there before the next one is sent. */
async function answeredInPieces(pieces: readonly string[]): Promise<{ text: string; isClosed: boolean }> {
  const { socket, heard } = talk()
  socket.setNoDelay(true)
  for (const piece of pieces) {
    await new Promise(done => socket.write(piece, done))
    // The server is in this process, and reads between two of these.
    for (let turn = 0; turn < 3; turn++) await new Promise(done => setImmediate(done))
  }
  const result = await heard('HTTP/1.1')
  socket.destroy()
  return result
}

const inPieces = (text: string, size: number): string[] => text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
const longHead = (size: number): string => `GET /livez HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(size)}\r\n\r\n`

describe('the gateway', () => {
  test.each([2000, 8000, 15_000])('reads a head of %d bytes in any number of packets', async size => {
    expect((await answeredInPieces(inPieces(longHead(size), 1400))).text).toMatch(/^HTTP\/1\.1 200/)
  })

  test.each([
    ['two Content-Length headers', `${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`],
    ['two Host headers', `GET /livez HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n`],
    ['two Authorization headers', `${POST}Authorization: Bearer b\r\nContent-Length: 0\r\n\r\n`],
    ['a transfer coding that is not chunked', `${POST}Transfer-Encoding: xchunked\r\n\r\n`],
  ])('refuses %s with 400, and closes the connection', async (_name, bytes) => {
    const { text, isClosed } = await answered(bytes)
    expect([text.slice(0, 12), isClosed]).toEqual(['HTTP/1.1 400', true])
  })
})

/** The package has a newer release of the library for Node 24, whose modules have this number. */
const IS_NEWER = Number(process.versions.modules) >= 137

describe('the library of the server', () => {
  test.each([
    ['HTTP/1.0', 'GET /livez HTTP/1.0\r\nHost: x\r\n\r\n'],
    ['a request line with an absolute URL', 'GET http://x/livez HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a line that is not HTTP', 'hello there\r\n\r\n'],
    ['the first bytes of TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\r\n\r\n'],
    ['trailers', `${POST}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\nX-Trailer: 1\r\n\r\n`],
  ])('answers %s with 505 in HTML, and closes the connection', async (_name, bytes) => {
    const { text, isClosed } = await answered(bytes)
    expect(text).toMatch(/^HTTP\/1\.1 505 [\s\S]*<h1>/)
    expect(isClosed).toBe(true)
  })

  test.each([
    ['a head without headers', 'GET /livez HTTP/1.1\r\n\r\n', 400],
    ['white space before a colon', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Some : y\r\n\r\n', 400],
    ['a folded line', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Some: y\r\n z\r\n\r\n', 400],
    ['a name with an underscore', 'GET /livez HTTP/1.1\r\nHost: x\r\nsession_id: y\r\n\r\n', 200],
    ['a line without a colon', 'GET /livez HTTP/1.1\r\nHost: x\r\nnothing\r\n\r\n', 400],
    ['a control character in a value', 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Some: a\u0001b\r\n\r\n', 400],
    ['more than 98 lines', `GET /livez HTTP/1.1\r\nHost: x\r\n${'X-Some: y\r\n'.repeat(98)}\r\n`, 431],
    [
      'a chunk with an extension',
      `${POST}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)};a=b\r\n${BODY}\r\n0\r\n\r\n`,
      undefined,
    ],
    ['Expect in capitals, before the body', `${POST}Expect: 100-Continue\r\nContent-Length: ${BODY.length}\r\n\r\n`, undefined],
  ])('does not answer %s, if it is not newer, and other requests do not wait', async (_name, bytes, newer) => {
    if (IS_NEWER && newer !== undefined) {
      expect((await answered(bytes, `HTTP/1.1 ${newer}`)).text).toContain(`HTTP/1.1 ${newer}`)
      return
    }
    const { socket, heard } = talk()
    socket.write(bytes)
    expect((await answered(HEALTH, 'HTTP/1.1 200')).text).toContain('HTTP/1.1 200')
    let text = ''
    void heard('HTTP').then(result => {
      text = result.text
    })
    expect(await still(() => text, 200)).toBe('')
    socket.destroy()
  })

  test('answers a head of more than 16 KiB in several packets with 431', async () => {
    const { text, isClosed } = await answeredInPieces(inPieces(longHead(17_000), 1400))
    expect([text.slice(0, 12), isClosed]).toEqual(['HTTP/1.1 431', true])
  })

  test('answers a request line in several packets with 505', async () => {
    const { text, isClosed } = await answeredInPieces(['GET /liv', 'ez HTTP/1.1\r\nHost: x\r\n\r\n'])
    expect([text.slice(0, 12), isClosed]).toEqual(IS_NEWER ? ['HTTP/1.1 200', false] : ['HTTP/1.1 505', true])
    expect((await answeredInPieces(['GET /livez HTTP/1.1\r\nHo', 'st: x\r\n\r\n'])).text).toMatch(/^HTTP\/1\.1 200/)
  })

  test('answers a head without Host with 400', async () => {
    const { text, isClosed } = await answered('GET /livez HTTP/1.1\r\nX-Some: y\r\n\r\n')
    expect([text.slice(0, 12), isClosed]).toEqual(['HTTP/1.1 400', true])
  })

  test('answers a client that expects 100-Continue in capitals when the body comes', async () => {
    const { socket, heard } = talk()
    socket.write(`${POST}Expect: 100-Continue\r\nContent-Length: ${BODY.length}\r\n\r\n`)
    socket.write(BODY)
    expect((await heard('"usage"')).text).toMatch(/^HTTP\/1\.1 200/)
    socket.destroy()
  })

  test('sends 100 Continue before the key is checked', async () => {
    const wrong = POST.replace(KEY, 'wrong')
    const { text } = await answered(`${wrong}Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`, 'HTTP/1.1 401')
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 401/)
  })

  test('ignores bytes in place of the CRLF after a chunk', async () => {
    const { text } = await answered(`${POST}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}XX0\r\n\r\n`, '"usage"')
    expect(text).toMatch(/^HTTP\/1\.1 200/)
  })

  test('answers two requests in one write if it answers the first at once', async () => {
    const { socket, heard } = talk()
    let count = 0
    socket.on('data', piece => {
      count += piece.toString().split('HTTP/1.1 200').length - 1
    })
    socket.write(HEALTH + HEALTH)
    expect(await settle(() => count, 2)).toBe(2)
    socket.destroy()
    await heard()
  })

  test('closes the connection on two requests in one write if the first waits for a provider', async () => {
    expect(await answered(WHOLE + HEALTH)).toEqual({ text: '', isClosed: true })
  })

  test('does not answer a client that closes its sending side', async () => {
    const { socket, heard } = talk({ allowHalfOpen: true })
    socket.end(WHOLE)
    expect(await heard()).toEqual({ text: '', isClosed: true })
  })
})
