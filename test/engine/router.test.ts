// From method and path to a route with its parameters, or to the allowed methods.

import { describe, expect, test } from 'vitest'
import type { Condition } from '../../engine/plan.js'
import type { Found, OtherMethods, RequestHead, Route } from '../../engine/snapshot/model.js'
import { createRouter } from '../../engine/snapshot/router.js'

function route(name: string, methods: string, paths: string | string[], when?: Condition): Route {
  return {
    name,
    methods: methods === 'any' ? [] : methods.split(' '),
    paths: [paths].flat(),
    auth: [],
    dialect: 'd',
    bodies: [],
    limits: { body: 1, upload: 1, connect: 1, headers: 1, first_event: 1, idle: 1, total: null },
    forward: [],
    forwardQuery: [],
    mirror: [],
    isShared: false,
    isApart: false,
    countsTokens: false,
    beside: 0,
    keep: undefined,
    errors: {} as Route['errors'],
    queryFor: {} as Route['queryFor'],
    ...(when && { when }),
  }
}

function head(method: string, path: string, more: Partial<RequestHead> = {}): RequestHead {
  return { method, path, query: {}, headers: {}, hasKeyIn: () => false, ...more }
}

/** The route's name and its parameters; `405` and what is allowed; or `404`. */
function outcome(found: Found | OtherMethods | undefined): [string, unknown] {
  if (found === undefined) return ['404', undefined]
  return 'params' in found ? [found.route.name, found.params] : ['405', found.allow]
}

const router = createRouter([
  route('plain', 'POST', '/a/b'),
  route('both', 'GET PUT', ['/two', '/deux']),
  route('segment', 'GET', '/s/{x}'),
  route('segments', 'GET', '/s/{x}/t/{y}'),
  route('fixed beside a segment', 'GET', '/s/me'),
  route('rest', 'GET DELETE', '/r/{+name}'),
  route('method behind a rest', 'POST', '/r/{+name}:run'),
  route('longer method behind a rest', 'POST', '/r/{+name}:runFast'),
  route('rest in the middle', 'GET', '/m/{+name}/end'),
  route('wild', 'any', ['/w', '/w/*']),
  route('inside the wild', 'POST', '/w/known'),
  route('segment inside the wild', 'POST', '/w/x/{id}'),
  route('special letters', 'GET', '/v1.0/(a)+{x}'),
])

describe('the router', () => {
  test.each<[string, string, string, unknown]>([
    ['POST', '/a/b', 'plain', {}],
    ['GET', '/two', 'both', {}],
    ['PUT', '/deux', 'both', {}],
    ['POST', '/a/b/', '404', undefined],
    ['POST', '/A/b', '404', undefined],
    ['POST', '//a/b', '404', undefined],
    ['POST', '/a%2Fb', '404', undefined],
    ['POST', '/a/../a/b', '404', undefined],
    ['GET', '', '404', undefined],

    ['GET', '/s/one', 'segment', { x: 'one' }],
    ['GET', '/s/me', 'fixed beside a segment', {}],
    ['GET', '/s/', '404', undefined],
    ['GET', '/s/one/two', '404', undefined],
    ['GET', '/s/a%2Fb', 'segment', { x: 'a/b' }],
    ['GET', '/s/a%20b%C3%A9', 'segment', { x: 'a bé' }],
    ['GET', '/s/a+b', 'segment', { x: 'a+b' }],
    ['GET', '/s/%2e%2e', 'segment', { x: '..' }],
    ['GET', '/s/%', '404', undefined],
    ['GET', '/s/%zz', '404', undefined],
    ['GET', '/s/%C3', '404', undefined],
    ['GET', '/s/a/t/b', 'segments', { x: 'a', y: 'b' }],
    ['GET', '/s/a/t/%zz', '404', undefined],
    // A path that cannot be decoded is no path of another method either.
    ['POST', '/s/%zz', '404', undefined],
    ['GET', '/r/%ff:run', '404', undefined],
    ['GET', '/w/x/%zz', 'wild', {}],

    ['GET', '/r/a/b/c', 'rest', { name: 'a/b/c' }],
    ['GET', '/r/', '404', undefined],
    ['POST', '/r/a/b:run', 'method behind a rest', { name: 'a/b' }],
    ['POST', '/r/a:run:run', 'method behind a rest', { name: 'a:run' }],
    ['POST', '/r/a:runFast:run', 'method behind a rest', { name: 'a:runFast' }],
    ['POST', '/r/a:run:runFast', 'longer method behind a rest', { name: 'a:run' }],
    ['POST', '/r/a%3Arun:run', 'method behind a rest', { name: 'a:run' }],
    ['GET', '/r/a:run', 'rest', { name: 'a:run' }],
    ['GET', '/m/a/end/b/end', 'rest in the middle', { name: 'a/end/b' }],
    ['GET', '/m/end', '404', undefined],

    ['GET', '/w', 'wild', {}],
    ['PATCH', '/w/', 'wild', {}],
    ['DELETE', '/w/a/b/c', 'wild', {}],
    ['GET', '/www', '404', undefined],
    ['POST', '/w/known', 'inside the wild', {}],
    ['POST', '/w/x/1', 'segment inside the wild', { id: '1' }],

    ['GET', '/v1.0/(a)+1', 'special letters', { x: '1' }],
    ['GET', '/v1x0/(a)+1', '404', undefined],
    ['GET', '/v1.0/aa1', '404', undefined],
  ])('finds for %s %s: %s', (method, path, name, more) => {
    expect(outcome(router(head(method, path)))).toEqual([name, more])
  })
})

describe('a wrong method', () => {
  test.each<[string, string, string[]]>([
    ['GET', '/a/b', ['POST']],
    ['post', '/a/b', ['POST']],
    ['POST', '/two', ['GET', 'PUT']],
    ['POST', '/s/one', ['GET']],
    ['DELETE', '/s/me', ['GET']],
    ['PUT', '/r/a', ['DELETE', 'GET']],
    ['PUT', '/r/a:run', ['DELETE', 'GET', 'POST']],
    // What takes any method and anything below does not make what is known there unknown.
    ['GET', '/w/known', ['POST']],
    ['GET', '/w/x/1', ['POST']],
  ])('%s %s is refused with the methods of the path', (method, path, allow) => {
    expect(outcome(router(head(method, path)))).toEqual(['405', allow])
  })

  test('is refused with the methods of all routes on the path, each once', () => {
    const several = createRouter([
      route('one', 'GET', '/p', { header: 'x' }),
      route('two', 'GET', '/p'),
      route('three', 'POST', '/p'),
      route('four', 'PUT', '/{any}'),
    ])
    expect(outcome(several(head('DELETE', '/p')))).toEqual(['405', ['GET', 'POST', 'PUT']])
  })

  test('finds the probable route, so that the error has its dialect', () => {
    const found = router(head('GET', '/a/b')) as OtherMethods
    expect(found.route.name).toBe('plain')
  })
})

describe('conditions', () => {
  const chosen = createRouter([
    route('with a header', 'GET', '/p', { header: 'x-version' }),
    route('with a query', 'GET', '/p', { query: { alt: 'sse' } }),
    route('with both', 'GET', '/q', { header: 'x-version', query: { alt: 'sse', b: '1' } }),
    route('with a key', 'GET', '/p', { auth: ['location-a', 'location-b'] }),
    route('else', 'GET', '/p'),
    route('only with a header', 'GET', '/only', { header: 'x-version' }),
    route('model with a query', 'POST', '/m/{+model}:go', { query: { alt: 'sse' } }),
    route('model', 'POST', '/m/{+model}:go'),
  ])
  const version = { headers: { 'x-version': '1' } }
  const sse = { query: { alt: 'sse' } }
  const keyed: Partial<RequestHead> = { hasKeyIn: locations => locations.includes('location-b') }

  test.each<[string, string, string, Partial<RequestHead>, string]>([
    ['no condition that holds', 'GET', '/p', {}, 'else'],
    ['a header', 'GET', '/p', version, 'with a header'],
    ['an empty header', 'GET', '/p', { headers: { 'x-version': '' } }, 'with a header'],
    ['a query', 'GET', '/p', sse, 'with a query'],
    ['another value of the query', 'GET', '/p', { query: { alt: 'json' } }, 'else'],
    ['a key in one of its locations', 'GET', '/p', keyed, 'with a key'],
    ['several that hold, of which the first in the file counts', 'GET', '/p', { ...version, ...sse, ...keyed }, 'with a header'],
    ['the last two hold', 'GET', '/p', { ...sse, ...keyed }, 'with a query'],
    ['one of two parts holds', 'GET', '/q', version, '404'],
    ['two of three parts hold', 'GET', '/q', { ...version, ...sse }, '404'],
    ['all parts hold', 'GET', '/q', { ...version, query: { alt: 'sse', b: '1' } }, 'with both'],
    ['the only condition does not hold', 'GET', '/only', {}, '404'],
    ['on a path with parameters', 'POST', '/m/a:go', sse, 'model with a query'],
    ['on a path with parameters, where none holds', 'POST', '/m/a:go', {}, 'model'],
  ])('%s', (_name, method, path, more, name) => {
    expect(outcome(chosen(head(method, path, more)))[0]).toBe(name)
  })
})

test('a narrow path precedes a wide one, whatever the order of the file', () => {
  const routes = [
    route('wide', 'GET', '/{+all}'),
    route('middle', 'GET', '/a/{+rest}'),
    route('narrow', 'GET', '/a/{+rest}/z'),
    route('exact', 'GET', '/a/b'),
  ]
  for (const list of [routes, [...routes].reverse()]) {
    const find = createRouter(list)
    expect(['/x/y', '/a/x', '/a/x/z', '/a/b'].map(path => outcome(find(head('GET', path)))[0])).toEqual([
      'wide',
      'middle',
      'narrow',
      'exact',
    ])
  }
})
