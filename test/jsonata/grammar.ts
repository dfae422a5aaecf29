// Random JSONata expressions and inputs for them. Each kind of expression mostly gives the kind of value it is named for,
// so that most of them have a result; now and then it is any other, so that errors and absence occur as well.
//
// Nothing that is not decided by the input ($random, $now, …), and no recursion or range without a small bound.

import fc from 'fast-check'

/** An expression's text and how tightly its outermost operator binds: an operand that binds less is put in brackets. */
interface Piece {
  text: string
  level: number
}

type Pieces = fc.Arbitrary<Piece>

const ATOM = 100
const STEP = 75
/** A path with a grouping at its end, which nothing may follow. */
const GROUP = 70

const atom = (text: string): Piece => ({ text, level: ATOM })

/** A piece where an operand of that level is wanted. */
function at(piece: Piece, level: number): string {
  return piece.level >= level ? piece.text : `(${piece.text})`
}

/** An argument, an item, a value: anything goes, but a bind or a comparison would be read otherwise in some places. */
const whole = (piece: Piece): string => piece.text

const NAMES = ['a', 'b', 'c', 'd', '`x y`']
const OUTSIDE = ['x', 'y']
const LOCAL = ['u', 'w']
const PARAMETERS = ['p', 'q', 'r']
const FOCUS = ['v', 'k']
const INDEX = ['i', 'j']
const KEYS = ['a', 'b', 'c', 'd', 'x y']

const constant = (...texts: string[]): Pieces => fc.constantFrom(...texts).map(atom)
const name = fc.constantFrom(...NAMES)
const variable = fc.constantFrom(...OUTSIDE, ...LOCAL, ...PARAMETERS, ...FOCUS, ...INDEX)
const small = fc.integer({ min: -3, max: 5 })

const numberLiteral = fc.constantFrom('0', '1', '2', '3', '5', '10', '2.5', '0.1', '1e21', '0.30000000000000004').map(atom)
const texts = [
  '""',
  '"a"',
  '"b"',
  '"hello"',
  '"1"',
  '"2.5"',
  '"a,b,c"',
  '"  x  y "',
  '"é😀z"',
  '"$1-$0"',
  '"ab ab"',
  "'it'",
  '"\\u0041\\n"',
]
const stringLiteral = constant(...texts)
/** Only as an argument: elsewhere the parser takes the slash for a division. */
const regex = constant('/a/', '/[a-c]/', '/(l)(l)?/', '/B/i', '/^./m', '/\\s+/', '/(a)|(b)/', '/x*/', '/,/')
const numberPicture = constant('"0"', '"#,##0.00"', '"0.0e0"', '"#0%"', '"(0);[0]"', '"x"')
const integerPicture = constant('"w"', '"A"', '"i"', '"0;o"', '"#,##0"', '"Ww"')
const timePicture = constant('"[Y]-[M01]-[D01]"', '"[H]:[m]:[s]"', '"[FNn], [D1o] [MNn]"', '"[Y"')

/** Built-ins as values, for functions of one argument and of more. */
const builtinNames =
  'string length uppercase trim number abs floor not boolean keys type sum count exists reverse distinct lookup append substring power join max spread merge string sort zip contains lowercase'.split(
    ' ',
  )

interface Grammar {
  any: Piece
  number: Piece
  string: Piece
  boolean: Piece
  list: Piece
  object: Piece
  callable: Piece
  path: Piece
  block: Piece
}

// One depth for all kinds together: as it grows, the first alternative is taken more and more, at last always.
const depthIdentifier = fc.createDepthIdentifier()
const DEPTH = { withCrossShrink: true, depthIdentifier, depthSize: 'small', maxDepth: 6 } as const

const times = (weight: number, arbitrary: Pieces): fc.WeightedArbitrary<Piece> => ({ weight, arbitrary })

const grammar = fc.letrec<Grammar>(tie => {
  const any = tie('any') as Pieces
  const numeric = noisy(tie('number') as Pieces)
  const text = noisy(tie('string') as Pieces)
  const truth = noisy(tie('boolean') as Pieces)
  const list = noisy(tie('list') as Pieces)
  const object = noisy(tie('object') as Pieces)
  const callable = noisy(tie('callable') as Pieces, 30)
  const path = tie('path') as Pieces

  function noisy(pieces: Pieces, weight = 9): Pieces {
    return fc.oneof(times(weight, pieces), times(1, any))
  }

  function call(functionName: string, ...parts: Pieces[]): Pieces {
    return fc.tuple(...parts).map(pieces => atom(`$${functionName}(${pieces.map(whole).join(', ')})`))
  }

  /** A call with arguments left out from the end, or handed over by `~>`. */
  function loose(functionName: string, ...parts: Pieces[]): Pieces {
    return fc.tuple(fc.integer({ min: 0, max: 9 }), fc.tuple(...parts)).map(([way, pieces]) => {
      const [first, ...rest] = pieces
      if (way === 0) return atom(`$${functionName}(${pieces.slice(0, -1).map(whole).join(', ')})`)
      if (way === 1 && first) return { text: `${at(first, 41)} ~> $${functionName}(${rest.map(whole).join(', ')})`, level: 40 }
      if (way === 2 && first) return { text: `${at(first, STEP)}.$${functionName}(${rest.map(whole).join(', ')})`, level: STEP }
      return atom(`$${functionName}(${pieces.map(whole).join(', ')})`)
    })
  }

  function infix(left: Pieces, operators: string[], right: Pieces, level: number): Pieces {
    return fc
      .tuple(left, fc.constantFrom(...operators), right)
      .map(([l, operator, r]) => ({ text: `${at(l, level)} ${operator} ${at(r, level + 1)}`, level }))
  }

  const optional = (pieces: Pieces): fc.Arbitrary<Piece | undefined> => fc.option(pieces, { nil: undefined, freq: 2 })

  const parameters = fc.integer({ min: 0, max: 3 }).map(count => PARAMETERS.slice(0, count).map(parameter => `$${parameter}`))
  const lambda = fc
    .tuple(parameters, any, fc.constantFrom('', '', '', '', '', '', '<x-:x>', '<n:n>', '<a<n>n?:n>', '<s-s?:s>', '<x?x?x?:x>', '<j-j?:x>'))
    .map(([names, body, signature]) => atom(`function(${names.join(', ')})${signature}{${body.text}}`))
  const lambdaOf = (body: Pieces, ...names: string[]): Pieces => body.map(piece => atom(`function(${names.join(', ')}){${piece.text}}`))

  const items = fc.array(any, { maxLength: 4 }).map(pieces => `[${pieces.map(whole).join(', ')}]`)
  const pair = fc.tuple(fc.oneof(times(5, constant('"k"', '"a"', '"b"', '"1"', '"__proto__"')), times(1, text)), any)
  const pairs = fc.uniqueArray(pair, { maxLength: 3, selector: ([key]) => key.text })
  const braces = pairs.map(entries => `{${entries.map(([key, item]) => `${key.text}: ${item.text}`).join(', ')}}`)

  const conditional = fc.tuple(truth, any, optional(any)).map(([test, then, otherwise]) => ({
    text: `${at(test, 21)} ? ${at(then, 11)}${otherwise ? ` : ${at(otherwise, 11)}` : ''}`,
    level: 20,
  }))
  const elvis = infix(any, ['?:', '??'], any, 40)

  const bind = fc.tuple(fc.constantFrom(...LOCAL), any).map(([local, item]) => `$${local} := ${item.text}`)
  const block = fc
    .tuple(fc.array(fc.oneof(texts2(4, bind), texts2(1, any.map(whole))), { maxLength: 2 }), any)
    .map(([statements, last]) => atom(`(${[...statements, last.text].join('; ')})`))

  /** Recursion with a counter: in the tail and not. */
  const recursion = fc.tuple(any, any, small, fc.boolean()).map(([base, step, count, isTail]) => {
    const again = '$f($n - 1, $m)'
    const body = isTail ? again.replace('$m', step.text) : `[${step.text}, ${again}]`
    return atom(`($f := function($n, $m){$n <= 0 ? ${at(base, 11)} : ${body}}; $f(${count}, ${base.text}))`)
  })
  const mutual = fc.tuple(any, small).map(([base, count]) => {
    return atom(`($f := function($n){$n <= 0 ? ${at(base, 11)} : $g($n - 1)}; $g := function($n){$n <= 0 ? $n : $f($n - 1)}; $f(${count}))`)
  })

  // A pattern that leads out of the copy would change the input, or a binding.
  const pattern = path.filter(piece => !/\$[$a-z]/.test(piece.text))
  const transform = fc
    .tuple(pattern, object, optional(constant('"a"', '["a", "b"]', 'b', '"none"')))
    .map(([found, update, remove]) => `|${found.text}|${update.text}${remove ? `, ${remove.text}` : ''}|`)
  const transformed = fc.tuple(any, transform).map(([subject, change]) => ({ text: `${at(subject, 41)} ~> ${change}`, level: 40 }))

  const hole = any.map(whole)
  const partial = fc.oneof(
    constant(
      '$substring(?, 1)',
      '$substring("hello", ?)',
      '$lookup(?, "a")',
      '$power(2, ?)',
      '$join(?, ",")',
      '$contains(?, "a")',
      '$round(?, 1)',
      '$zip(?)',
    ),
    fc.tuple(hole, fc.boolean()).map(([given, isFirst]) => atom(isFirst ? `$append(?, ${given})` : `$append(${given}, ?)`)),
    fc.tuple(lambda, hole).map(([callee, given]) => atom(`${callee.text}(?, ${given})`)),
    fc.tuple(lambda).map(([callee]) => atom(`${callee.text}(?)`)),
  )
  const composed = fc.tuple(callable, callable).map(([first, second]) => atom(`(${at(first, 40)} ~> ${at(second, 41)})`))
  const applied = fc.tuple(any, callable).map(([subject, callee]) => ({ text: `${at(subject, 41)} ~> ${at(callee, 41)}`, level: 40 }))
  const invoked = fc
    .tuple(callable, fc.array(any, { maxLength: 3 }))
    .map(([callee, given]) => atom(`${callee.text.startsWith('$') ? callee.text : `(${callee.text})`}(${given.map(whole).join(', ')})`))
  const variableCall = fc
    .tuple(variable, fc.array(any, { maxLength: 2 }))
    .map(([callee, given]) => atom(`$${callee}(${given.map(whole).join(', ')})`))

  // A regex called as the function that it is, but never over a function, whose source code it would match.
  const onlyText = fc.oneof(times(3, stringLiteral), times(1, call('string', any)))
  const matched = fc
    .tuple(regex, onlyText, fc.constantFrom('', '.next()', '.match', '.groups', '.next().next()'))
    .map(([pattern, subject, then]) => ({ text: `($m := ${pattern.text}; $m(${subject.text}))${then}`, level: then ? STEP : ATOM }))

  // Paths ---------------------------------------------------------------------------------------------------------

  const start = fc.oneof(
    DEPTH,
    times(14, name.map(atom)),
    times(
      5,
      variable.map(variableName => atom(`$${variableName}`)),
    ),
    times(3, constant('$', '$$')),
    times(2, constant('*', '**')),
    times(2, tie('list') as Pieces),
    times(1, tie('object') as Pieces),
    times(1, tie('block') as Pieces),
    times(
      1,
      any.map(piece => atom(`(${piece.text})`)),
    ),
  )
  const next = fc.oneof(
    DEPTH,
    texts2(
      14,
      name.map(step => `.${step}`),
    ),
    texts2(2, fc.constantFrom('.*', '.**', '."a"')),
    texts2(3, fc.constantFrom('.%', '.%', '.%.%', '.%.%.a')),
    texts2(2, fc.constantFrom('.$string()', '.$keys()', '.$length()', '.$type()', '.$sum(a)', '.$lookup("a")', '.$')),
    texts2(
      1,
      variable.map(variableName => `.$${variableName}`),
    ),
    texts2(
      2,
      any.map(piece => `.(${piece.text})`),
    ),
    texts2(
      1,
      braces.map(pieces => `.${pieces}`),
    ),
    texts2(
      1,
      items.map(pieces => `.${pieces}`),
    ),
  )
  const order = fc
    .array(fc.tuple(fc.constantFrom('', '<', '>'), fc.oneof(times(4, path), times(1, any))), { minLength: 1, maxLength: 2 })
    .map(terms => `^(${terms.map(([direction, term]) => direction + term.text).join(', ')})`)
  const inner = fc.oneof(times(3, truth), times(2, path), times(1, any))
  const predicate = fc.oneof(
    DEPTH,
    texts2(
      4,
      small.map(index => `[${index}]`),
    ),
    texts2(4, fc.constant('[]')),
    texts2(
      3,
      fc.constantFrom(...INDEX).map(index => `#$${index}`),
    ),
    texts2(2, order),
    texts2(
      5,
      inner.map(piece => `[${piece.text}]`),
    ),
    texts2(1, fc.constantFrom('[[0..1]]', '[[0, -1]]', '[1.5]', '[-0.5]', '[%.a]', '[%.b = 1]')),
  )
  /** What may follow a step. A bound context comes first. */
  const follows = fc
    .tuple(fc.option(fc.constantFrom(...FOCUS), { nil: undefined, freq: 9 }), fc.array(predicate, { maxLength: 2 }))
    .map(([focus, predicates]) => (focus === undefined ? '' : `@$${focus}`) + predicates.join(''))
  const follow = fc.oneof(texts2(3, fc.constant('')), texts2(2, follows))
  const group = fc.oneof(texts2(9, fc.constant('')), texts2(1, braces))
  const longer = fc.tuple(start, follow, fc.array(fc.tuple(next, follow), { maxLength: 3 }), group).map(([first, after, rest, last]) => {
    const tail = after + rest.flat().join('')
    if (tail + last === '') return first
    return { text: at(first, STEP) + tail + last, level: last ? GROUP : STEP }
  })
  const steps = fc.oneof(DEPTH, times(1, name.map(atom)), times(9, longer))

  return {
    any: fc.oneof(
      DEPTH,
      times(3, name.map(atom)),
      times(8, path),
      times(2, constant('null', 'true', 'false')),
      times(2, numberLiteral),
      times(2, stringLiteral),
      times(
        3,
        variable.map(variableName => atom(`$${variableName}`)),
      ),
      times(2, tie('number') as Pieces),
      times(2, tie('string') as Pieces),
      times(2, tie('boolean') as Pieces),
      times(4, tie('list') as Pieces),
      times(3, tie('object') as Pieces),
      times(2, tie('callable') as Pieces),
      times(2, conditional),
      times(2, elvis),
      times(3, tie('block') as Pieces),
      times(1, recursion),
      times(1, mutual),
      times(2, transformed),
      times(2, applied),
      times(2, invoked),
      times(1, variableCall),
      times(1, call('lookup', object, text)),
      times(1, call('single', list, callable)),
      times(1, call('replace', text, callable, text)),
      times(1, matched),
      times(1, call('reduce', list, lambdaOf(any, '$p', '$q'))),
      times(1, call('clone', object)),
      times(1, fc.oneof(call('error', text), call('assert', truth, text))),
    ),

    number: fc.oneof(
      DEPTH,
      times(6, numberLiteral),
      times(6, path),
      times(
        2,
        small.map(value => ({ text: String(value), level: value < 0 ? 70 : ATOM })),
      ),
      times(4, infix(numeric, ['+', '-'], numeric, 50)),
      times(3, infix(numeric, ['*', '/', '%'], numeric, 60)),
      times(
        2,
        numeric.map(piece => ({ text: `-${at(piece, 71)}`, level: 70 })),
      ),
      times(3, fc.oneof(call('sum', list), call('count', any), call('max', list), call('min', list), call('average', list))),
      times(2, fc.oneof(loose('length', text), loose('number', text), call('number', any))),
      times(
        2,
        fc.oneof(
          loose('abs', numeric),
          loose('floor', numeric),
          loose('ceil', numeric),
          loose('sqrt', numeric),
          loose(
            'round',
            numeric,
            small.map(value => atom(String(value))),
          ),
        ),
      ),
      times(
        1,
        fc.oneof(
          loose(
            'power',
            numeric,
            small.map(value => atom(String(value))),
          ),
          call('parseInteger', text, integerPicture),
          call('toMillis', text),
        ),
      ),
      times(1, call('reduce', list, lambdaOf(numeric, '$p', '$q'), numeric)),
      times(1, call('reduce', list, lambdaOf(numeric, '$p', '$q', '$r'))),
    ),

    string: fc.oneof(
      DEPTH,
      times(6, stringLiteral),
      times(6, path),
      times(4, infix(any, ['&'], any, 50)),
      times(3, fc.oneof(call('string', any), call('string', any, truth), loose('type', any))),
      times(2, fc.oneof(loose('uppercase', text), loose('lowercase', text), loose('trim', text))),
      times(
        2,
        fc.oneof(
          loose('substring', text, numeric),
          loose('substring', text, numeric, numeric),
          loose('substringBefore', text, text),
          loose('substringAfter', text, text),
        ),
      ),
      times(
        2,
        fc.oneof(
          loose('replace', text, regex, text),
          loose('replace', text, stringLiteral, text),
          call('replace', text, regex, lambdaOf(text, '$p')),
          call('replace', text, regex, text, numeric),
        ),
      ),
      times(1, fc.oneof(call('join', list), call('join', list, text), call('join', call('split', text, regex), text))),
      times(
        1,
        call(
          'pad',
          text,
          small.map(value => atom(String(value * 3))),
          stringLiteral,
        ),
      ),
      times(
        1,
        fc.oneof(
          loose('base64encode', text),
          loose('base64decode', text),
          loose('encodeUrlComponent', text),
          loose('decodeUrl', text),
          loose('encodeUrl', text),
          loose('decodeUrlComponent', text),
        ),
      ),
      times(
        1,
        fc.oneof(
          call('formatBase', numeric, constant('2', '16', '40')),
          call('formatNumber', numeric, numberPicture),
          call('formatInteger', numeric, integerPicture),
        ),
      ),
      times(1, fc.oneof(call('fromMillis', numeric), call('fromMillis', numeric, timePicture))),
    ),

    boolean: fc.oneof(
      DEPTH,
      times(3, constant('true', 'false')),
      times(4, path),
      times(4, infix(any, ['=', '!='], any, 40)),
      times(4, infix(numeric, ['<', '<=', '>', '>='], numeric, 40)),
      times(1, infix(text, ['<', '>='], text, 40)),
      times(2, infix(any, ['in'], list, 40)),
      times(2, infix(truth, ['and'], truth, 30)),
      times(2, infix(truth, ['or'], truth, 25)),
      times(3, fc.oneof(call('exists', any), loose('not', any), loose('boolean', any))),
      times(2, fc.oneof(loose('contains', text, regex), loose('contains', text, text))),
    ),

    list: fc.oneof(
      DEPTH,
      times(3, constant('[]', '[1, 2, 3]', '["b", "a"]', 'a', 'b')),
      times(6, path),
      times(5, items.map(atom)),
      times(
        2,
        fc.tuple(small, small).map(([from, to]) => atom(`[${from}..${to}]`)),
      ),
      times(
        1,
        fc.tuple(any, small, small).map(([item, from, to]) => atom(`[${item.text}, ${from}..${to}]`)),
      ),
      times(
        1,
        fc.tuple(numeric).map(([to]) => atom(`[0..$count([${to.text}])]`)),
      ),
      times(4, loose('map', list, callable)),
      times(3, loose('filter', list, callable)),
      times(2, call('map', list, lambdaOf(any, '$p'))),
      times(2, call('filter', list, lambdaOf(truth, '$p', '$q'))),
      times(2, fc.oneof(call('sort', list), call('sort', list, lambdaOf(truth, '$p', '$q')))),
      times(2, fc.oneof(call('append', any, any), call('distinct', list), call('reverse', list))),
      times(1, fc.oneof(call('zip', list, list), call('zip', list), call('zip', list, list, list))),
      times(1, fc.oneof(loose('keys', object), loose('spread', object), call('spread', list), call('keys', list))),
      times(
        2,
        fc.oneof(
          loose('split', text, regex),
          loose('split', text, stringLiteral),
          call('match', text, regex),
          call('match', text, regex, numeric),
          call('filter', call('split', onlyText, stringLiteral), regex),
        ),
      ),
      times(1, loose('each', object, callable)),
      // What is applied in part checks no arguments, so that it is given a list here.
      times(
        1,
        fc.tuple(fc.constantFrom('map', 'filter'), lambda, items).map(([callee, given, of]) => atom(`$${callee}(?, ${given.text})(${of})`)),
      ),
    ),

    object: fc.oneof(
      DEPTH,
      times(3, constant('{}', '$', '$$', 'a', 'b')),
      times(4, path),
      times(5, braces.map(atom)),
      times(2, call('merge', list)),
      times(
        1,
        call(
          'merge',
          fc.tuple(object, object).map(([first, second]) => atom(`[${first.text}, ${second.text}]`)),
        ),
      ),
      times(2, loose('sift', object, callable)),
      times(1, transformed),
      times(1, conditional),
    ),

    callable: fc.oneof(
      DEPTH,
      times(
        3,
        fc.constantFrom(...builtinNames).map(builtin => atom(`$${builtin}`)),
      ),
      times(6, lambda),
      times(2, partial),
      times(1, composed),
      times(1, transform.map(atom)),
      times(
        1,
        variable.map(variableName => atom(`$${variableName}`)),
      ),
    ),

    path: steps,
    block,
  }
})

function texts2(weight: number, arbitrary: fc.Arbitrary<string>): fc.WeightedArbitrary<string> {
  return { weight, arbitrary }
}

export const expression: fc.Arbitrary<string> = grammar.any.map(piece => piece.text)

const scalar: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: small },
  { weight: 4, arbitrary: fc.constantFrom('', 'a', 'b', 'hello', '1', '2.5', 'a,b', 'é😀z', '2017-05-15T15:12:59.152Z') },
  { weight: 1, arbitrary: fc.constantFrom(1.5, 0.1, 1 / 3, 1e21, 0.1 + 0.2) },
  { weight: 2, arbitrary: fc.constantFrom(true, false, null) },
)

const data = fc.letrec<{ value: unknown; object: unknown; array: unknown }>(tie => ({
  value: fc.oneof(
    { withCrossShrink: true, depthSize: 'small', maxDepth: 4 },
    { weight: 4, arbitrary: scalar },
    { weight: 3, arbitrary: tie('object') },
    { weight: 3, arbitrary: tie('array') },
  ),
  object: fc.record(Object.fromEntries(KEYS.map(key => [key, tie('value')])), { requiredKeys: [] }),
  array: fc.array(tie('value'), { maxLength: 3 }),
}))

/** Mostly an object, as a request is, with objects and arrays of objects in it. */
export const input: fc.Arbitrary<unknown> = fc.oneof(
  { withCrossShrink: true },
  { weight: 2, arbitrary: data.value },
  { weight: 5, arbitrary: data.object },
)

export const bindings: fc.Arbitrary<Record<string, unknown>> = fc.record({ x: data.value, y: data.value }, { requiredKeys: [] })
