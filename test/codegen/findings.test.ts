// One thing wrong with the data at a time: what is found, and exactly where.

import { describe, expect, test } from 'vitest'
import { type Fixture, fixture, withDialects } from './fixture.js'

const ROUTE = 'name: fine\nmethod: GET\npath: /fine\nauth: []\ndialect: chat\nanswer: "{}"\n'

/** A mapping between the two small dialects; what is given comes before `request`, or in place of it. */
function mapping(text: string): string {
  return `title: Small\n${text.includes('request:') ? '' : 'request: \'{ "model": $ctx.model, "text": text }\'\n'}${text}`
}

interface Broken {
  name: string
  /** How much of the project's data there is. */
  size?: 'small' | 'unmapped'
  change(data: Fixture): void
  /** Rule, detail, and the beginning of the remedy, or '' where any will do: one for each mark, in their order. */
  finds: [rule: string, detail: string, remedy: string][]
}

const CASES: Broken[] = [
  {
    name: 'an unknown key of a route is found at the key',
    change: data => data.write('routes/new.yaml', `${ROUTE}◆colour: red\n`),
    finds: [['grammar/unknown-key', '"colour" is not a key here', 'use one of: like, name, method, path,']],
  },
  {
    name: 'an unknown key inside a flow mapping',
    change: data =>
      data.write(
        'routes/new.yaml',
        'name: fine\nmethod: POST\npath: /fine\nauth: []\ndialect: chat\nlimits: { body: 1MiB, ◆bodi: 2MiB }\n',
      ),
    finds: [['grammar/unknown-key', 'limits: "bodi" is not a key here', 'did you mean body? else use one of: body, upload, connect,']],
  },
  {
    name: 'a missing key is found where the document begins',
    change: data => data.write('providers/new.yaml', '# A provider.\n◆title: New\nbase: https://new.example\nspeaks: { chat: /v1/chat }\n'),
    finds: [['grammar/missing-key', 'the document: "credential" is missing', 'add credential:']],
  },
  {
    name: 'a word that the grammar does not know',
    change: data => data.write('routes/new.yaml', `${ROUTE.replace('answer: "{}"', 'body: ◆xml')}`),
    finds: [['grammar/value', 'body: "xml" is not valid here', '`json`, `multipart`, `none`, or the list']],
  },
  {
    name: 'a route that is like none',
    change: data => data.write('routes/new.yaml', 'name: new\nlike: ◆chatt\npath: /new\n'),
    finds: [['route/like', 'there is no route chatt to be like', 'name another route']],
  },
  {
    name: 'routes that are like each other',
    change: data => data.write('routes/new.yaml', 'name: one\nlike: two\npath: /one\n---\nname: two\nlike: ◆one\npath: /two\n'),
    finds: [['route/like', 'one is like this one itself', 'name another route']],
  },
  {
    name: 'what a route says wrongly beside what it takes over',
    change: data => data.write('routes/new.yaml', `${ROUTE}---\nname: new\nlike: fine\npath: /new\n◆colour: red\n`),
    finds: [['grammar/unknown-key', '"colour" is not a key here', 'use one of: like, name,']],
  },
  {
    name: 'a dialect that is like none',
    change: data => data.write('schemas/new/format.yaml', 'title: New\nlike: ◆chatt\n'),
    finds: [['format/like', 'there is no dialect chatt to be like', 'name another dialect']],
  },
  {
    name: 'an expression of a dialect that is like another one, where it stands',
    change: data => data.write('schemas/new/format.yaml', "title: New\nlike: chat\nstream: { watch: { content: '◆$nowhere()' } }\n"),
    finds: [['jsonata/undeclared', '', 'declare it']],
  },
  {
    name: 'a model that is looked for in a path that has no place for it',
    change: data =>
      data.write('routes/new.yaml', 'name: new\nmethod: POST\npath: /new/{name}\nauth: []\ndialect: chat\nmodel: ◆path.model\n'),
    finds: [['route/model', 'the path /new/{name} has no {model}, but `model` refers to it', 'add {model}']],
  },
  {
    name: 'a socket whose body would name its model',
    change: data => data.write('routes/new.yaml', 'name: ◆new\nmethod: GET\npath: /new\nauth: []\ndialect: chat\nupgrade: websocket\n'),
    finds: [['route/model', 'a socket has no body to name its model', 'use `model: path.model`']],
  },
  {
    name: 'a subprotocol of what no socket opens',
    change: data =>
      data.write('providers/new.yaml', 'title: New\ncredential: { header: x-key }\nspeaks: { chat: { path: /r, subprotocol: ◆own } }\n'),
    finds: [['provider/subprotocol', 'no route of chat opens a socket', 'remove it']],
  },
  {
    name: 'a dialect that does not exist, in whose words a route refuses',
    change: data => data.write('routes/new.yaml', `${ROUTE}error: { like: ◆chatt }\n`),
    finds: [['names/dialect', 'there is no dialect chatt', 'did you mean chat? else use one of: ']],
  },
  {
    name: 'a check of the fields of a body that is no form',
    change: data =>
      data.write('routes/new.yaml', 'name: new\nmethod: POST\npath: /new\nauth: []\ndialect: chat\nbody: ◆json\nvalidate: fields\n'),
    finds: [['grammar/not', 'body: this combination is not allowed', '`multipart`']],
  },
  {
    name: 'a rest that is to pass where the request is not carried over',
    change: data => withDialects(data).write('mappings/tiny-to-typed/mapping.yaml', mapping('fields: { rest: ◆pass }\n')),
    finds: [['ledger/rest', '', 'carry the request over']],
  },
  {
    name: 'a patch of events of a dialect that has no stream',
    change: data => {
      data.write('schemas/quiet/format.yaml', 'title: Quiet\nresponse: json\nerror: chat\n')
      data.write('providers/new.yaml', "title: New\ncredential: { header: x-key }\nspeaks: { quiet: { path: /r, event: '◆$' } }\n")
    },
    finds: [['provider/event', 'quiet has no stream', 'remove it']],
  },
  {
    name: 'a patch of answers that is no expression',
    change: data =>
      data.write(
        'providers/new.yaml',
        'title: New\ncredential: { header: x-key }\nspeaks: { chat: { path: /r, response: \'{ "a": ◆}\' } }\n',
      ),
    finds: [['jsonata/S0211', '', 'correct the expression at this position']],
  },
  {
    name: 'a kind that does not exist',
    change: data => data.write('routes/new.yaml', `${ROUTE.replace('answer: "{}"', 'fail: ◆teapot')}`),
    finds: [['grammar/value', 'fail: "teapot" is not known here', 'use one of: invalid_request, authentication,']],
  },
  {
    name: 'a duration that is not written as one',
    change: data => data.write('routes/new.yaml', `${ROUTE.replace('answer: "{}"', 'limits:\n  idle: ◆60 seconds')}`),
    finds: [['grammar/value', 'limits.idle: "60 seconds" is not valid here', 'A duration: a whole number above 0']],
  },
  {
    name: 'two keys that exclude each other',
    change: data => data.write('routes/new.yaml', `◆${ROUTE}fail: not_found\n`),
    finds: [['grammar/not', 'the document: this combination is not allowed', 'A route answers here or fails; not both.']],
  },
  {
    name: 'a member whose name is none',
    change: data => withDialects(data).write('mappings/tiny-to-typed/mapping.yaml', mapping('tables:\n  ◆Stop-Reason: { a: b }\n')),
    finds: [['grammar/name', 'tables: "Stop-Reason" is not a valid name here', 'Lower-case words, joined by `_`.']],
  },
  {
    name: 'a document that is no mapping',
    change: data => data.write('providers/new.yaml', '◆just a text\n'),
    finds: [['grammar/type', 'the document: must be object', 'Provider']],
  },
  {
    name: 'a file that is no YAML is found where it breaks off',
    change: data => data.write('providers/new.yaml', 'title: New\nbase: [a,\n  b:\n◆'),
    finds: [['yaml/syntax', '', 'correct the YAML syntax at this position']],
  },
  {
    name: 'a key that is there twice',
    change: data => data.write('routes/new.yaml', `${ROUTE}◆path: /other\n`),
    finds: [['yaml/syntax', 'duplicated mapping key', 'correct the YAML syntax at this position']],
  },
  {
    name: 'a second document in a file that holds one thing',
    change: data =>
      data.write(
        'providers/new.yaml',
        'title: New\nbase: http://example.com\ncredential: { header: x-key }\nspeaks: { chat: /v1/chat }\n---\n◆title: Other\nbase: http://example.org\ncredential: { header: x-key }\nspeaks: { chat: /v1/chat }\n',
      ),
    finds: [['', '', '']],
  },
  {
    name: 'a dialect that does not exist, named by a route',
    change: data => data.write('routes/new.yaml', ROUTE.replace('dialect: chat', 'dialect: ◆chatt')),
    finds: [['names/dialect', 'there is no dialect chatt', 'did you mean chat? else use one of: ']],
  },
  {
    name: 'a credential that does not exist',
    change: data => data.write('routes/new.yaml', ROUTE.replace('auth: []', 'auth: [bearer, ◆cookie]')),
    finds: [['names/credential', 'there is no credential cookie', 'use one of: bearer,']],
  },
  {
    name: 'a credential that does not exist, in a condition',
    change: data => data.write('routes/new.yaml', `${ROUTE}when: { auth: [◆cookie] }\n`),
    finds: [['names/credential', 'there is no credential cookie', 'use one of: bearer,']],
  },
  {
    name: 'a dialect that does not exist, spoken by a provider',
    size: 'unmapped',
    change: data =>
      data.edit('providers/anthropic.yaml', '  messages: /v1/messages\n', '  messages: /v1/messages\n  massages: ◆/v1/massages\n'),
    finds: [['names/dialect', 'there is no dialect massages', 'did you mean messages? else use one of: ']],
  },
  {
    name: 'a mapping between dialects that do not exist',
    change: data => data.write('mappings/latin-to-greek/mapping.yaml', `◆◆${mapping('')}`),
    finds: [
      ['names/dialect', 'there is no dialect latin', 'use one of: '],
      ['names/dialect', 'there is no dialect greek', 'use one of: '],
    ],
  },
  {
    name: 'errors like those of a dialect that does not exist',
    change: data => data.write('schemas/new/format.yaml', 'title: New\nresponse: json\nerror: ◆nowhere\n'),
    finds: [['names/dialect', 'there is no dialect nowhere', 'use one of: ']],
  },
  {
    name: 'errors like those of each other, so that nobody says anything',
    change: data => {
      data.write('schemas/one/format.yaml', 'title: One\nresponse: json\nerror: ◆two\n')
      data.write('schemas/two/format.yaml', 'title: Two\nresponse: json\nerror: ◆one\n')
    },
    finds: [
      ['', '', ''],
      ['', '', ''],
    ],
  },
  {
    name: 'a route that reads requests of a dialect without a schema for them',
    change: data => {
      data.write('schemas/new/format.yaml', 'title: New\nresponse: json\nerror: chat\n')
      data.write('routes/new.yaml', 'name: fine\nmethod: POST\npath: /fine\nauth: []\ndialect: ◆new\n')
    },
    finds: [
      ['schema/missing', 'schemas/new/request.yaml is missing, and this route reads such requests', 'write the schema of its requests'],
    ],
  },
  {
    name: 'a description that wants quotes',
    change: data => {
      data.write('schemas/new/format.yaml', 'title: New\nresponse: json\nerror: chat\n')
      data.write('schemas/new/request.yaml', 'type: object\nproperties:\n  a: { type: string, description: More wishes, ◆as a text }\n')
    },
    finds: [['schema/keyword', 'as a text is no keyword (does a text want quotes?)', 'write it as JSON Schema']],
  },
  {
    name: 'a kind of error without a word',
    size: 'unmapped',
    change: data => data.edit('schemas/messages/format.yaml', '    invalid_request: { type: invalid_request_error }\n    ', '    ◆'),
    finds: [['grammar/missing-key', 'error.kinds: "invalid_request" is missing', 'add invalid_request:']],
  },
  {
    name: 'a path that is served twice',
    change: data =>
      data.write(
        'routes/new.yaml',
        'name: fine\nmethod: [GET, POST]\npath: ◆/v1/chat/completions\nauth: []\ndialect: chat\nanswer: "{}"\n',
      ),
    finds: [['route/path', 'POST /v1/chat/completions is already served by chat (routes/chat.yaml)', 'remove one of them']],
  },
  {
    name: 'a path that differs in the name of its parameter alone',
    change: data =>
      data.write(
        'routes/new.yaml',
        `name: one\nmethod: GET\npath: /a/{x}\nauth: []\ndialect: chat\nanswer: "{}"\n---\nname: two\nmethod: GET\npath: ◆/a/{y}\nauth: []\ndialect: chat\nanswer: "{}"\n`,
      ),
    finds: [['route/path', 'GET /a/{y} is already served by one (routes/new.yaml)', 'remove one of them']],
  },
  {
    name: 'a name that two routes have',
    change: data => data.write('routes/new.yaml', `${ROUTE.replace('name: fine', 'name: ◆chat')}`),
    finds: [['route/name', 'a route named chat is there already (routes/chat.yaml)', 'choose another name']],
  },
  {
    name: 'a reference to a file that is not there',
    change: data => data.write('schemas/new/request.yaml', "type: object\nproperties:\n  a: { $ref: '◆../nowhere/request#/$defs/a' }\n"),
    finds: [['schema/reference', '../nowhere/request#/$defs/a leads nowhere', 'name a file of schemas/']],
  },
  {
    name: 'a reference to a place that is not there',
    change: data => data.write('schemas/new/request.yaml', "$defs: { b: {} }\nitems:\n  $ref: '◆#/$defs/a'\n"),
    finds: [['schema/reference', '#/$defs/a leads nowhere', 'name a file of schemas/']],
  },
  {
    name: 'a reference that is no address',
    change: data => data.write('schemas/new/request.yaml', "items:\n  $ref: '◆http://[nobody'\n"),
    finds: [['schema/reference', 'http://[nobody leads nowhere', 'name a file of schemas/']],
  },
  {
    name: 'a reference that cannot be decoded',
    change: data => data.write('schemas/new/request.yaml', "items:\n  $ref: '◆#/$defs/%zz'\n"),
    finds: [['schema/reference', '#/$defs/%zz leads nowhere', 'name a file of schemas/']],
  },
  {
    name: 'a schema with a type that is none',
    change: data => {
      data.write('schemas/new/format.yaml', 'title: New\nresponse: json\nerror: chat\n')
      data.write('schemas/new/request.yaml', 'type: object\nproperties:\n  a: { type: ◆strng }\n')
    },
    finds: [['', '', '']],
  },
  {
    name: 'a schema whose kinds are named by no list',
    change: data => {
      data.write('schemas/new/format.yaml', 'title: New\nresponse: json\nerror: chat\n')
      data.write('schemas/new/request.yaml', 'type: object\nkind_by_member: ◆text\nproperties:\n  text: { type: string }\n')
    },
    finds: [['schema/keyword', 'what names the kind is `each`, or a list of members', 'write it as JSON Schema']],
  },
  {
    name: 'a refused field that is said to be sent',
    change: data =>
      withDialects(data).write('mappings/tiny-to-typed/mapping.yaml', mapping('fields:\n  refused: { text: { sent: ◆text, why: no } }\n')),
    finds: [['mapping/sent', 'text is refused with `sent` and another condition', 'use `sent` only for a dropped field']],
  },
  {
    name: 'a schema of answers is looked at, too',
    change: data => {
      data.write('schemas/new/format.yaml', 'title: New\nresponse: json\nerror: chat\n')
      data.write(
        'schemas/new/response.yaml',
        "type: object\nproperties:\n  a: { type: string, pattern: '◆(' }\n  b: { type: string, format: ◆colour }\n  c: { type: string, format: date-time }\n",
      )
    },
    finds: [
      ['', '', ''],
      ['schema/keyword', 'colour is no format of JSON Schema or OpenAPI', 'write it as'],
    ],
  },
  {
    name: 'a field of the request that the mapping forgot',
    change: data => {
      withDialects(data).write(
        'schemas/tiny/request.yaml',
        'type: object\nproperties:\n  model: { type: string }\n  text: { type: string }\n  other: { type: array, items: { type: object, properties: { deep: { type: string } } } }\n',
      )
      data.write('mappings/tiny-to-typed/mapping.yaml', mapping('fields:\n  ◆dropped: { ◆txet: no such thing }\n'))
    },
    finds: [
      ['ledger/unmapped', "the request's field other[] is neither read nor listed", 'map it, or list it under fields.dropped'],
      ['ledger/unknown', 'the request has no field txet', 'did you mean text? else use one of: model, text, other[]'],
    ],
  },
  {
    name: 'a field that an expression reads and the schema does not have',
    change: data =>
      withDialects(data).write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping('request: |\n  { "model": $ctx.model, "text": text & ◆txet,\n    "stream": ◆steam }\n'),
      ),
    finds: [
      ['jsonata/field', 'the schema has no field txet here', 'correct the name, or add the field'],
      ['jsonata/field', 'the schema has no field steam here', 'correct the name, or add the field'],
    ],
  },
  {
    name: 'a field of the answer that no schema has, in a function that reads it for another one',
    change: data => {
      withDialects(data).write('schemas/typed/response.yaml', 'type: object\nproperties:\n  text: { type: string }\n')
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping(
          'define:\n  read: \'function($answer) { { "text": $answer.◆txet } }\'\n  written: \'function($said) { { "text": $said.text } }\'\nresponse: $written($read($))\n',
        ),
      )
    },
    finds: [['jsonata/field', 'the schema has no field txet here', 'correct the name, or add the field']],
  },
  {
    name: 'fields of the answer and of its events that no schema has, at every depth',
    change: data => {
      withDialects(data).write(
        'schemas/typed/response.yaml',
        'type: object\nproperties:\n  list: { type: array, items: { type: object, properties: { text: { type: string }, any: true } } }\n  open: { type: object }\n',
      )
      data.write(
        'schemas/typed/event.yaml',
        'union:\n  by: type\n  of:\n    text: { type: object, properties: { text: { type: string } } }\n    end: { type: object, properties: { why: { type: string } } }\n',
      )
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping(
          'response: \'{ "a": list.text, "b": list.◆txet, "c": list[0].◆tex, "d": open.thing, "e": list.any.thing, "f": ◆lisst.text }\'\nstream:\n  steps:\n    - { name: one, when: text, emit: \'{ "a": text, "b": why, "c": ◆txt }\' }\n',
        ),
      )
    },
    finds: [
      ['jsonata/field', 'the schema has no field txet here', 'correct the name, or add the field'],
      ['jsonata/field', 'the schema has no field tex here', 'correct the name, or add the field'],
      ['jsonata/field', 'the schema has no field lisst here', 'correct the name, or add the field'],
      ['jsonata/field', 'the schema has no field txt here', 'correct the name, or add the field'],
    ],
  },
  {
    name: 'what a request is made of, against the schema of the provider, in a part and in a loop, too',
    change: data => {
      withDialects(data).write(
        'schemas/typed/request.yaml',
        [
          'type: object',
          'required: [model, turns]',
          'properties:',
          '  model: { type: string }',
          '  size: { type: integer }',
          '  turns:',
          '    type: array',
          '    items:',
          '      union:',
          '        by: kind',
          '        of:',
          '          word: { type: object, required: [text], properties: { text: { type: string }, tone: { enum: [calm, loud] } } }',
          '          image: { type: object, properties: { url: { anyOf: [{ type: string }, { type: object, properties: { at: { type: string } } }] } } }',
          '',
        ].join('\n'),
      )
      data.write(
        'mappings/library/part.yaml',
        [
          'functions:',
          '  turn: |',
          '    function($text) { $text = "" ? { "kind": "word", "text": ◆12 } : $toned({ "kind": "word", "txet◆": $text }) }',
          '  toned: \'function($turn) { $merge([$turn, { "tone": "lou◆d!" }]) }\'',
          '',
        ]
          .join('\n')
          .replace('"txet◆"', '◆"txet"')
          .replace('"lou◆d!"', '◆"loud!"'),
      )
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping(
          [
            'uses: [part]',
            'request: |',
            '  (',
            '    $list := [$map([text], function($one) { $turn($one) }), ◆{ "kind": "word" }, { "kind": ◆"wrod" }, text.{ "kind": "image", "url": { ◆"to": $ } }];',
            '    stream ? ◆{ "model": $ctx.model, "size": ◆"big" } : { "model": $ctx.model, "size": $count([text]), "turns": $list }',
            '  )',
            '',
          ].join('\n'),
        ),
      )
    },
    finds: [
      ['mapping/type', 'turns[].text cannot be 12', 'give a text, or correct the schema'],
      ['mapping/member', 'turns[] has no member "txet"', 'did you mean text? else use one of: '],
      ['mapping/value', 'turns[].tone cannot be "loud!"', 'did you mean loud? else use one of: calm, loud'],
      ['mapping/missing', 'turns[] has no text, which the schema requires', 'add it'],
      ['mapping/value', 'turns[].kind cannot be "wrod"', 'did you mean word? else use one of: word, image'],
      ['mapping/member', 'turns[].url has no member "to"', 'use one of: at'],
      ['mapping/missing', 'the whole has no turns, which the schema requires', 'add it'],
      ['mapping/type', 'size cannot be "big"', 'give a number'],
    ],
  },
  {
    name: 'what a client is told, whole and in a stream, against the schema of its dialect',
    change: data => {
      withDialects(data).write('schemas/tiny/response.yaml', 'type: object\nproperties: { text: { type: string } }\n')
      data.write('schemas/tiny/event.yaml', 'type: object\nrequired: [piece]\nproperties: { piece: { type: string } }\n')
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping(
          [
            'response: \'{ "text": text, ◆"txet": text }\'',
            'stream:',
            '  let: { made: \'{ "piece": ◆true }\' }',
            '  steps:',
            '    - name: a piece goes on',
            '      emit: \'text = "" ? $made : [◆{}]\'',
            '',
          ].join('\n'),
        ),
      )
    },
    finds: [
      ['mapping/member', 'the whole has no member "txet"', 'did you mean text?'],
      ['mapping/type', 'piece cannot be true', 'give a text'],
      ['mapping/missing', 'the whole has no piece, which the schema requires', 'add it'],
    ],
  },
  {
    name: 'members of the query that no route passes, and of $ctx that are not there',
    change: data => {
      withDialects(data).write(
        'routes/new.yaml',
        'name: new\nmethod: POST\npath: /new\nauth: []\ndialect: tiny\nmodel: body.model\nforward_query: [variant]\n',
      )
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping(
          'request: |\n  { "model": $ctx.model, "text": text & $query.variant & $query.◆varaint\n    & $ctx.query.variant & $ctx.◆modle & $ctx.query.◆x }\n',
        ),
      )
    },
    finds: [
      [
        'jsonata/query',
        'of the query, routes of this dialect pass variant, and no varaint',
        'correct the name, or add it to `forward_query`',
      ],
      ['jsonata/context', '$ctx has no member modle', 'correct the name'],
      ['jsonata/query', 'of the query, routes of this dialect pass variant, and no x', 'correct the name'],
    ],
  },
  {
    name: 'a table that misses a word of the enumeration that is looked up in it',
    change: data => {
      withDialects(data).write(
        'schemas/tiny/request.yaml',
        'type: object\nproperties:\n  model: { type: string }\n  mood: { enum: [good, bad, none] }\n',
      )
      data.write('schemas/typed/request.yaml', 'type: object\nproperties: { model: { type: string } }\nadditionalProperties: true\n')
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping(
          [
            'tables:',
            '  part: { good: fine }',
            '  others: { good: fine, _: "?" }',
            'request: |',
            '  { "model": $ctx.model, "a": ◆$lookup($tables.part, mood), "b": $lookup($tables.others, mood),',
            '    "c": $lookup($tables.part, mood) ?? "?", "d": $lookup($tables.part, $ctx.model), "e": $lookup($tables.◆prat, mood) }',
            '',
          ].join('\n'),
        ),
      )
    },
    finds: [
      ['jsonata/table', 'the table has no row for bad, none', 'declare the table; add the rows, or a row _ for all others'],
      ['jsonata/table', 'there is no table prat', 'declare the table'],
    ],
  },
  {
    name: 'a part of the library that does not exist',
    change: data => withDialects(data).write('mappings/tiny-to-typed/mapping.yaml', mapping('uses: [◆basics]\n')),
    finds: [['names/part', 'there is no part basics', 'use one of: ']],
  },
  {
    name: 'a function with the name of another that the mapping sees',
    change: data => {
      withDialects(data).write('mappings/library.yaml', "functions:\n  one: 'function($x) { $x }'\n")
      data.write('mappings/library/part.yaml', "functions:\n  one: 'function($x) { $x }'\n  two: 'function($x) { $x }'\n")
      data.write('mappings/tiny-to-typed/mapping.yaml', mapping("uses: [◆part]\ndefine:\n  two: '◆function($x) { $x }'\n"))
    },
    finds: [
      ['names/function', 'one is a function of mappings/library.yaml, too', 'choose another name, or use the existing function'],
      ['names/function', 'two is a function of mappings/library/part.yaml, too', 'choose another name, or use the existing function'],
    ],
  },
  {
    name: 'a table or a rule that two of the files say which a mapping is made of',
    change: data => {
      withDialects(data).write(
        'mappings/library/part.yaml',
        "functions: { one: 'function($x) { $x }' }\ntables: { words: { a: b, _: c } }\nfields: { dropped: { x: no such thing, text: none } }\n",
      )
      data.write('mappings/library/more.yaml', "functions: { two: 'function($x) { $x }' }\nfields: { dropped: { x: no such thing } }\n")
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping('uses: [◆part, ◆more]\ntables: { words: { a: d, _: e } }\nfields: { dropped: { text: this pair has another reason } }\n'),
      )
    },
    finds: [
      ['names/shared', "the table words is there already, of the mapping's own or of another part", 'say it once'],
      ['names/shared', "a rule for x is there already, of the mapping's own or of another part", 'say it once'],
    ],
  },
  {
    name: 'what a part keeps of a stream is said once',
    change: data => {
      withDialects(data).write(
        'mappings/library/part.yaml',
        'stream: { state: { at: 0 }, steps: [{ name: keep, set: \'{ "at": 1 }\' }] }\n',
      )
      data.write(
        'mappings/library/more.yaml',
        "stream: { let: { n: 'text' }, steps: [{ name: fail, when: '$n', fail: '{ \"kind\": \"upstream\" }' }] }\n",
      )
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping("uses: [◆part, ◆more]\nstream: { state: { at: 2 }, let: { n: 'type' }, steps: [{ name: tell, emit: '{ \"n\": $n }' }] }\n"),
      )
    },
    finds: [
      ['names/shared', "the member of the state at is there already, of the mapping's own or of another part", 'say it once'],
      ['names/shared', "the variable n is there already, of the mapping's own or of another part", 'say it once'],
    ],
  },
  {
    name: 'a step of a part is found where it stands, and a step of the mapping behind it where that does',
    change: data => {
      withDialects(data).write('mappings/library/part.yaml', "stream:\n  steps:\n    - { name: keep, when: '◆$nothing', set: '{}' }\n")
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping("uses: [part]\nstream:\n  steps:\n    - { name: tell, emit: '{}' }\n    - { name: more, when: '◆$nothing', emit: '{}' }\n"),
      )
    },
    finds: [
      ['jsonata/undeclared', '$nothing is not declared', ''],
      ['jsonata/undeclared', '$nothing is not declared', ''],
    ],
  },
  {
    name: 'what a step tells has steps that write it, once; what is wrong in them is found where they stand',
    change: data => {
      withDialects(data).write(
        'mappings/library/reader.yaml',
        "stream:\n  steps:\n    - { name: read, tell: { text: '◆$nothing', thought: text, ◆smell: text } }\n",
      )
      data.write(
        'mappings/library/writer.yaml',
        "stream:\n  writes:\n    text: [{ name: write, when: '◆$nothing', emit: '{ \"text\": $told }' }]\n    thought: []\n",
      )
      data.write('mappings/library/other.yaml', 'stream: { writes: { thought: [] } }\n')
      data.write('mappings/tiny-to-typed/mapping.yaml', mapping('uses: [reader, writer, ◆other]\nstream: {}\n'))
    },
    finds: [
      ['jsonata/undeclared', '$nothing is not declared', ''],
      ['mapping/tell', 'nothing writes "smell" to the client', ''],
      ['jsonata/undeclared', '$nothing is not declared', ''],
      ['names/shared', "how the client is told thought is there already, of the mapping's own or of another part", 'say it once'],
    ],
  },
  {
    name: 'a rule of a field of a part is found where it stands',
    change: data => {
      withDialects(data).write(
        'mappings/library/part.yaml',
        "functions: { one: 'function($x) { $x }' }\nfields: { dropped: { x: { when: '◆$nothing', why: no such thing } } }\n",
      )
      data.write('mappings/tiny-to-typed/mapping.yaml', mapping('uses: [part]\n'))
    },
    finds: [['jsonata/undeclared', '$nothing is not declared', '']],
  },
  {
    name: 'what a function of a part misses in the mapping that uses it, called or not',
    change: data => {
      withDialects(data).write(
        'mappings/library/part.yaml',
        "functions:\n  one: 'function($x) { $own($x) & ◆$other($x) }'\n  two: 'function($x) { ◆$nothing }'\n",
      )
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping(
          'uses: [part]\ndefine: { own: \'function($x) { $x }\' }\nrequest: \'{ "model": $ctx.model, "text": $one(text), "stream": stream }\'\n',
        ),
      )
    },
    finds: [
      ['jsonata/undeclared', '$other is not declared', ''],
      ['jsonata/undeclared', '$nothing is not declared', ''],
    ],
  },
  {
    name: 'a field that only a function of the answer reads',
    change: data => {
      withDialects(data).write(
        'schemas/tiny/request.yaml',
        'type: object\nproperties:\n  model: { type: string }\n  text: { type: string }\n  mood: { type: string }\n',
      )
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping(
          "define:\n  mood_of: 'function($x) { $x.mood }'\nresponse: '{ \"a\": $mood_of($) }'\nfields:\n  ◆dropped: { text: no such thing }\n",
        ),
      )
    },
    finds: [['ledger/unmapped', "the request's field mood is neither read nor listed", 'map it, or list it']],
  },
  {
    name: 'a field that a reader gives and the writer does not take',
    change: data => {
      withDialects(data).write(
        'schemas/tiny/request.yaml',
        'type: object\nproperties:\n  model: { type: string }\n  text: { type: string }\n  mood: { type: string }\n',
      )
      data.write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping(
          'define:\n  read_ask: \'function($x) { { "said": $x.text, "how": $x.mood } }\'\n  write_ask: \'function($ask, $model) { { "model": $model, "text": $ask.said } }\'\nrequest: $write_ask($read_ask($), $ctx.model)\nfields:\n  ◆dropped: { text: no such thing }\n',
        ),
      )
    },
    finds: [['ledger/unmapped', "the request's field mood is neither read nor listed", 'map it, or list it']],
  },
  {
    name: 'a step for events of a kind, where the events of the provider have none',
    change: data =>
      withDialects(data).write(
        'mappings/tiny-to-plain/mapping.yaml',
        mapping('stream:\n  steps:\n    - name: never\n      on: ◆[delta]\n      emit: \'{ "a": 1 }\'\n'),
      ),
    finds: [['', '', '']],
  },
  {
    name: 'a step for the end inside a loop over an event',
    change: data =>
      withDialects(data).write(
        'mappings/tiny-to-typed/mapping.yaml',
        mapping("stream:\n  steps:\n    - for: list\n      steps:\n        - name: never\n          on: ◆done\n          emit: '{}'\n"),
      ),
    finds: [['', '', '']],
  },
]

describe('one thing wrong with the data', () => {
  for (const { name, change, finds, size = 'small' } of CASES) {
    test(name, () => {
      const data = fixture(size)
      change(data)
      const found = data.findings()
      const expected = finds.map(([rule, detail, remedy], index) => ({
        place: data.marks[index],
        rule: rule === '' ? expect.stringMatching(/./) : rule,
        detail: detail === '' ? expect.stringMatching(/./) : detail,
        remedy: expect.stringMatching(new RegExp(`^${remedy.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}`)),
      }))
      // Details name other files by the path from here.
      expect(found.map(item => ({ ...item, detail: item.detail.replaceAll(`${data.folder}/`, '') }))).toEqual(expected)
    })
  }
})
