// Signed requests: the published vectors of the scheme, and the variant of another service.

import { describe, expect, test } from 'vitest'
import { signerOf } from '../../engine/snapshot/signer.js'

const TIME = Date.UTC(2015, 7, 30, 12, 36, 0)
const SECRET = 'AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const AWS = {
  algorithm: 'AWS4-HMAC-SHA256',
  key_prefix: 'AWS4',
  ending: 'aws4_request',
  region: 'us-east-1',
  service: 'service',
  date: 'x-amz-date',
}

const signed = (sign: object, question: { method?: string; path: string; headers?: string[]; body?: string }, secret = SECRET) => {
  const headers = signerOf({ header: 'authorization', sign: sign as never }, secret)?.(
    { method: 'GET', headers: [], ...question },
    'example.amazonaws.com',
    TIME,
  )
  return headers && Object.fromEntries(Array.from({ length: headers.length / 2 }, (_, at) => [headers[2 * at], headers[2 * at + 1]]))
}

describe('the published vectors (aws-sig-v4-test-suite)', () => {
  test.each([
    ['get-vanilla', { path: '/' }, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    [
      'get-vanilla-query-order-key-case',
      { path: '/?Param2=value2&Param1=value1' },
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
    ['post-vanilla', { method: 'POST', path: '/' }, '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  ])('%s', (_name, question, signature) => {
    expect(signed(AWS, question)).toEqual({
      'x-amz-date': '20150830T123600Z',
      authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
    })
  })
})

const OTHER = {
  algorithm: 'HMAC-SHA256',
  ending: 'request',
  region: 'cn-north-1',
  service: 'cv',
  date: 'x-date',
  digest: 'x-content-sha256',
}

describe('a service with its own names', () => {
  test('signs the digest of the body and its type', () => {
    const question = {
      method: 'POST',
      path: '/?Action=Do&Version=2022-08-31',
      headers: ['content-type', 'application/json'],
      body: '{"a":1}',
    }
    const first = signed(OTHER, question)
    expect(first).toMatchObject({
      'x-date': '20150830T123600Z',
      'x-content-sha256': '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862',
    })
    expect(first?.authorization).toMatch(
      /^HMAC-SHA256 Credential=AKIDEXAMPLE\/20150830\/cn-north-1\/cv\/request, SignedHeaders=content-type;host;x-content-sha256;x-date, Signature=[0-9a-f]{64}$/,
    )
    for (const other of [{ body: '{"a":2}' }, { path: '/?Action=Do&Version=2022-08-32' }, { headers: ['content-type', 'text/plain'] }])
      expect(signed(OTHER, { ...question, ...other })?.authorization).not.toBe(first?.authorization)
    expect(signed(OTHER, { ...question, path: '/?Version=2022-08-31&Action=Do' })?.authorization).toBe(first?.authorization)
  })

  test('signs nothing with a secret that is not a pair', () => {
    expect(signed(OTHER, { path: '/' }, 'just-a-key')).toBeUndefined()
  })
})
