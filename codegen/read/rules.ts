// Every rule that a finding can name: what it says, what breaks it, and what to do. docs/rules/ is made of this list, and a
// test looks that no finding names a rule that is not here.

export interface Rule {
  /** `group/name`, as findings print it. */
  id: string
  /** A warning tells what is surely not meant, and lets the file be served; anything else is an error. */
  severity: 'error' | 'warning'
  /** What must hold. */
  sentence: string
  /** What breaks it, as it stands in a file. */
  example: string
  /** What to do. */
  cure: string
}

const error = (id: string, sentence: string, example: string, cure: string): Rule => ({ id, severity: 'error', sentence, example, cure })
const warning = (id: string, sentence: string, example: string, cure: string): Rule => ({
  id,
  severity: 'warning',
  sentence,
  example,
  cure,
})

export const RULES: readonly Rule[] = [
  // Files
  error('file/missing', 'The file that a command names can be read.', 'sluice check missing.yaml', 'Name a file that is there.'),
  error(
    'provider/extends',
    'What a provider extends is another provider, or the built-in one of its own name, and does not extend it in turn.',
    'extends: opnai',
    'Name a built-in provider, or another file of providers/, without `.yaml`.',
  ),
  error(
    'via/chain',
    'A way between dialects leads through one dialect, which takes none itself.',
    '# schemas/notes/format.yaml: via: chat, and schemas/chat/format.yaml\nvia: messages',
    'Name a dialect that has mappings of its own.',
  ),
  error(
    'via/mapping',
    'The dialect that `via` names is mapped to this one, or from it.',
    '# schemas/notes/format.yaml, and no mappings/notes-to-chat\nvia: chat',
    'Write mappings/<dialect>-to-<via>, or the one back, or both.',
  ),
  error(
    'provider/event',
    'What is said of the events of a provider is said of a dialect that has a stream.',
    "speaks: { embeddings: { path: /v1/embeddings, event: '$' } }",
    'Take it out; `response` is about whole answers.',
  ),
  error(
    'provider/subprotocol',
    'A subprotocol is offered where a route of the dialect opens a socket.',
    'speaks: { chat: { path: /v1/chat/completions, subprotocol: realtime } }',
    'Take it out, or add the route with `upgrade: websocket`.',
  ),
  error(
    'route/model',
    'The place where a route looks for the name of the model is one that its requests have.',
    'path: /v1/realtime\nmodel: path.model',
    'Put the placeholder into the path, or name another place. A socket has no body: its path or its query names the model.',
  ),
  error(
    'file/unreadable',
    'Every file of the folders beside gateway.yaml can be read.',
    '# routes/mine.yaml belongs to another user, mode 0600',
    'Give the user that runs the gateway the right to read the file.',
  ),
  error(
    'cache/folder',
    'The folder that `cache` names can be written to, and is nobody else’s.',
    'cache: /usr/share/sluice',
    'Name a folder that the user that runs the gateway owns, or leave `cache` out.',
  ),
  error(
    'yaml/syntax',
    'A file is YAML, and no key stands twice in one mapping.',
    'listen: 127.0.0.1:8080\nlisten: 127.0.0.1:8081',
    'Correct the file at the position of the finding.',
  ),
  error(
    'yaml/documents',
    'A file that describes one thing holds one document.',
    'title: One\n---\ntitle: Two',
    'Move the second document to a file of its own.',
  ),

  // Budgets
  error(
    'budget/store',
    'Budgets are counted in a store.',
    'keys: [{ name: ci, value: $SLUICE_CI_KEY, budget: 5/day }]   # and no store',
    'Add `store: sqlite`, or take the budgets out.',
  ),
  error('budget/window', 'A list of budgets has each window once.', 'budget: [5/day, 10/day]', 'Keep the one that is meant.'),
  error(
    'budget/zone',
    'A time zone is one of the IANA database.',
    'budgets: { zone: Europe/Bonn }',
    'Write one such as Europe/Berlin, or UTC.',
  ),
  error(
    'budget/metrics',
    'A budget of everybody has no metrics: there would be a series for each key or end user.',
    'budgets: { end_user: { limit: 1/day, metrics: true } }',
    'Take `metrics` out, or say it for those that are meant.',
  ),

  // Relays
  error(
    'relay/path',
    'Each relay has a path of its own.',
    'relay:\n  one: { path: /vendor/*, upstream: a }\n  two: { path: /vendor/*, upstream: b }',
    'Give each its own path. Of two of which one is below the other, the longer one counts.',
  ),
  error(
    'relay/shadows',
    'A relay stands before no route that is served otherwise, unless it says so.',
    'relay:\n  all: { path: /v1/*, upstream: openai }',
    'Choose another path, or say `replaces: true`.',
  ),

  // Calls
  error(
    'call/url',
    'The address of a service is one of HTTP.',
    'call:\n  filter: { at: request, url: $FILTER_URL, send: request }   # and FILTER_URL=filter:9000',
    'Write one such as http://127.0.0.1:9000/filter.',
  ),
  error(
    'call/may',
    'A service may do what can be done at the moment when it is asked.',
    'call:\n  login: { at: admit, url: http://127.0.0.1:9000, send: key.name, may: [replace] }',
    'Ask it at another moment, or take out what it cannot do then.',
  ),
  warning(
    'call/streams',
    'A service that is asked about answers says what becomes of streams, which it cannot see.',
    'call:\n  filter: { at: answer, url: http://127.0.0.1:9000, send: answer }',
    'Say `streams: refuse` or `streams: pass`.',
  ),
  error(
    'names/route',
    'A pattern of routes fits a route.',
    'call:\n  filter: { at: request, url: http://127.0.0.1:9000, send: request, routes: [chats] }',
    'Use a name that `sluice routes` lists.',
  ),

  // Patterns
  error(
    'format/text',
    'A path of `texts` leads to a text that the dialect’s schema knows.',
    'texts: { request: [messages[].contents] }',
    'Name a path of a text, or take it out.',
  ),
  error(
    'pattern/syntax',
    'A pattern is an expression of RE2.',
    "patterns:\n  twice: { match: '(\\w+) \\1' }",
    'Write it without back references and without looking around: https://github.com/google/re2/wiki/Syntax.',
  ),

  // Grammar
  error(
    'grammar/unknown-key',
    'Every key is one that the grammar of the file describes.',
    'listen: 127.0.0.1:8080\ncolour: red',
    'Use one of the keys that the finding lists, or take the key out.',
  ),
  error('grammar/missing-key', 'Every required key is there.', 'upstreams:\n  openai: { secret: $OPENAI_API_KEY }', 'Add the key.'),
  error(
    'grammar/value',
    'A value is one of those that are listed, or is written as its key demands.',
    'grace: 60 seconds',
    'Write the value as the finding says.',
  ),
  error(
    'grammar/name',
    'The name of a member is written as its place demands.',
    'tables:\n  Stop-Reason: { end: stop }',
    'Choose another name.',
  ),
  error(
    'grammar/not',
    'Keys that exclude each other do not stand together.',
    'answer: \'{ "ok": true }\'\nfail: not_found',
    'Keep one of them.',
  ),
  error('grammar/type', 'A value has the type of its key.', 'workers: many', 'Write a value of the type that the finding names.'),
  error(
    'grammar/const',
    'A value that can only be one is that one.',
    'failure: { in: {}, out: { kind: upstream }, invalid: false }',
    'Write the value that the finding names.',
  ),
  error('grammar/minLength', 'A text that must say something is not empty.', 'name: ""', 'Write the text.'),
  error('grammar/minimum', 'A number is at least as large as its key demands.', 'workers: 0', 'Write a larger number.'),
  error('grammar/maximum', 'A number is at most as large as its key allows.', 'workers: 5000', 'Write a smaller number.'),
  error('grammar/minItems', 'A list that must hold something is not empty.', 'models:\n  m: { targets: [] }', 'Add an item.'),
  error(
    'grammar/maxItems',
    'A list has no more items than its key allows.',
    'requests: [1/1s, 2/2s, 3/3s, 4/4s, 5/5s, 6/6s, 7/7s, 8/8s, 9/9s]',
    'Take some out.',
  ),
  error('grammar/uniqueItems', 'No item stands twice in the list.', 'groups: [a, a]', 'Take the second one out.'),
  error('grammar/minProperties', 'An object that must hold something is not empty.', 'speaks: {}', 'Add a member.'),
  error('grammar/anyOf', 'A value has one of the forms that its key allows.', 'path: 1', 'Write it in one of the forms of docs/reference.'),

  // Names that lead elsewhere
  error(
    'names/file',
    'Folders and files have names that can be names of dialects and providers.',
    'providers/My Provider.yaml',
    'Use lower-case letters and digits, joined by `_`.',
  ),
  error(
    'names/dialect',
    'A dialect that is named has a folder in `schemas/`.',
    'speaks: { massages: /v1/messages }',
    'Use one of the dialects that the finding lists, or add the folder.',
  ),
  error(
    'names/credential',
    'A place of keys that is named stands in `routes/_credentials.yaml`.',
    'auth: [cookie]',
    'Use one of those that are there, or add it.',
  ),
  error('names/kind', 'A kind of failure is one that there is.', 'fail: teapot', 'Use one of the kinds that the finding lists.'),
  error(
    'names/part',
    'A part of the library that is used is a file of `mappings/library/`.',
    'uses: [chats]',
    'Use one of the parts that the finding lists, or add the file.',
  ),
  error(
    'names/function',
    'A function has one definition in all that a mapping sees.',
    'uses: [a, b]  # both define $text',
    'Choose another name, or use the one that is there.',
  ),
  error(
    'names/shared',
    'A table, or a rule of a field, is said once in the parts that a mapping uses.',
    'uses: [a, b]  # both say what becomes of the field n',
    'Say it in one of them. A mapping may say otherwise what becomes of a field, and not what a table of a part holds.',
  ),
  error(
    'names/provider',
    'The provider of an upstream is a file of `providers/`.',
    'upstreams:\n  mine: { provider: opnai, secret: none }',
    'Use one of the providers that the finding lists, or add the file.',
  ),
  error(
    'names/upstream',
    'The upstream of a target stands under `upstreams:`.',
    'models:\n  m: { targets: [{ upstream: missing }] }',
    'Use one of those that are there, or add it.',
  ),
  error(
    'names/group',
    'A group that a key or a model names stands under `groups:`, where the file has that.',
    'groups: { team: {} }\nkeys: [{ name: me, value: $KEY, groups: [taem] }]',
    'Use one of the groups that the finding lists, or add it.',
  ),
  error(
    'names/fact',
    'A model that a target is known as has an entry in `models/`.',
    'models:\n  m: { targets: [{ upstream: azure, model: mine, known_as: gpt-55 }] }',
    'Name one that `sluice models` shows.',
  ),
  error(
    'names/page',
    'A page that is to be shown is one of `routes/`.',
    'pages: { prices: [default] }',
    'Use one of the pages that the finding lists.',
  ),
  error(
    'overlay/exists',
    'What an own folder adds has a name that is free, or says `replaces: true`.',
    '# providers/openai.yaml beside gateway.yaml\ntitle: OpenAI',
    'Choose another name, or say `replaces: true`.',
  ),

  // Routes, schemas, formats
  error('route/name', 'Each route has a name of its own.', 'name: chat\n---\nname: chat', 'Choose another name, or say `replaces: true`.'),
  error(
    'route/path',
    'No two routes answer the same request.',
    'path: /v1/models\n---\npath: /v1/models',
    'Choose another path, or tell them apart with `when:`.',
  ),
  error(
    'schema/missing',
    'A dialect whose requests are read has a schema for them.',
    'dialect: mine  # without schemas/mine/request.yaml',
    'Add the schema.',
  ),
  error('schema/reference', 'A `$ref` leads to a schema that is there.', "$ref: '#/$defs/missing'", 'Mend the reference.'),
  error('schema/keyword', 'A schema is written in JSON Schema 2020-12.', 'type: text', 'Write the keyword as JSON Schema has it.'),
  error(
    'format/like',
    'What a dialect is like is another dialect, or the built-in one of its own name, and is not like it in turn.',
    'like: chatt  # in schemas/mine/format.yaml',
    'Name another dialect, a folder of schemas/.',
  ),
  error(
    'route/like',
    'What a route is like is another route, or the built-in one of its own name, and is not like it in turn.',
    'like: mesages',
    'Name another route; `sluice routes` lists them.',
  ),
  error(
    'format/error',
    'A dialect whose errors are like those of another does not lead back to itself.',
    'error: mine  # in schemas/mine/format.yaml',
    'Name a dialect that says its errors itself.',
  ),
  error(
    'format/kind',
    'A dialect has a word for every kind of failure, or takes those of another with `like:`.',
    'error: { kinds: { not_found: { type: missing } } }  # and no other',
    'Add the kind that the finding names, or say `like:`.',
  ),
  error(
    'format/rate_limits',
    'A dialect whose headers of limits are those of another names one that says them itself.',
    'rate_limits: chat  # where chat names another dialect, too',
    'Name a dialect that does.',
  ),

  // Mappings
  error(
    'ledger/rest',
    'A mapping that says `rest: pass` carries the request over whole.',
    'request: \'{ "model": $ctx.model }\'\nfields: { rest: pass }',
    "Write `request: '$merge([$, { … }])'`, or take `rest` out.",
  ),
  error(
    'ledger/unmapped',
    "Every field of the client's request is read by the mapping, or listed with the reason why not.",
    'fields: {}  # while the schema has `seed`',
    'Map the field, or list it under `fields.dropped` or `fields.refused`.',
  ),
  error('mapping/define', 'What is defined is a function.', "define: { twice: '$x * 2' }", "Write it as `'function($x) { … }'`."),
  error(
    'mapping/on',
    'A step waits for a kind of events that can come: the end alone and outside of loops, and kinds only where the events of the provider have them.',
    'on: [done, message_start]',
    'Write a step for `done` alone, or say `when:`.',
  ),
  error(
    'mapping/tell',
    'What the steps of a stream tell of the conversation is written to the client: `writes`, of the mapping or of a part that it uses, has steps for each word.',
    'steps: [{ name: text, tell: { text: delta.text } }]   # and no writes: { text: […] }',
    "Use the part of the library that is the half of the client's dialect, or say the word under `writes`.",
  ),
  error(
    'mapping/sent',
    '`sent` is said of a field that is dropped, alone; `when` of one for which nothing is sent.',
    'dropped: { seed: { why: x, when: seed > 1, sent: seed } }',
    'Keep one of the two.',
  ),

  // Expressions
  error(
    'jsonata/syntax',
    'An expression is JSONata. The finding names the code that JSONata itself gives, such as `jsonata/S0202`.',
    'request: \'{ "model": $ctx.model\'',
    'Mend the expression at the position of the finding.',
  ),
  error(
    'jsonata/undeclared',
    'A variable is declared before it is used.',
    'request: \'{ "model": $modle }\'',
    'Declare it, or see docs/data-language.md for what this place can see.',
  ),
  error(
    'jsonata/chance',
    'An expression gives the same for the same input.',
    'request: \'{ "id": $random() }\'',
    'Use `$ctx.id` and `$ctx.created`.',
  ),
  error(
    'jsonata/call',
    'A function is called with a `$` before its name.',
    'request: \'{ "n": sum(list) }\'',
    'Put a `$` before the name.',
  ),
  error(
    'jsonata/table',
    'A table has a row for each value that the schema allows.',
    '$lookup($tables.stop, finish_reason)',
    'Add the rows, or a row `_` for all others, or a default with `??`.',
  ),
  error(
    'jsonata/field',
    'A field that is read is one that the schema has.',
    'request: \'{ "text": txet }\'',
    'Mend the name, or add the field to the schema.',
  ),
  error('jsonata/key', 'A key stands once in an object.', '\'{ "a": 1, "a": 2 }\'', 'Take one of the two out.'),
  error(
    'jsonata/node',
    'An expression uses what the compiler knows.',
    '(an expression of a later version of JSONata)',
    'Write it in another way.',
  ),
  error(
    'jsonata/operator',
    'An expression uses the operators that the compiler knows.',
    '(an operator of a later version of JSONata)',
    'Write it in another way.',
  ),

  // Cases
  error(
    'case/different',
    'A mapping makes what its case says.',
    'request: { in: { n: 1 }, out: { n: 2 } }',
    'Mend the mapping, or the case.',
  ),
  error(
    'case/compiler',
    'What was compiled gives what JSONata gives.',
    '(a fault of Sluice)',
    'Write the expression in another way, and report it.',
  ),
  error(
    'case/schema',
    'What stands in a case is valid by the schemas of both dialects.',
    'request: { in: { model: 1 } }',
    'Mend the case, the mapping or the schema.',
  ),
  error('case/error', 'A mapping fails for no case.', 'request: \'$error("no")\'', 'Mend the expression.'),
  error('case/known', 'A case that is marked as one that fails does fail.', 'known: 12', 'Take `known:` out.'),
  error('case/empty', 'A file of cases holds one.', '(an empty file)', 'Write a case, or remove the file.'),
  error('case/missing', 'There is a case about each part of a mapping.', 'response: …  # and no case with response:', 'Add a case.'),
  error(
    'case/step',
    'There is a case that fires each step of a stream: one of the mapping, or of any mapping that uses the part whose step it is.',
    'steps: [{ name: text begins, … }]  # and no case with such an event',
    'Add a case whose events fire it, or take the step out.',
  ),

  // gateway.yaml
  error(
    'key/name',
    'Each key has a name of its own.',
    'keys: [{ name: me, value: $A }, { name: me, value: $B }]',
    'Give each its own name.',
  ),
  error(
    'key/value',
    'Each key has a value of its own.',
    'keys: [{ name: a, value: $A }, { name: b, value: $A }]',
    'Give each its own value.',
  ),
  error(
    'secret/environment',
    'A variable that a secret names is set.',
    'secret: $OPENAI_API_KEY',
    'Set it, take the entry out, or check with `--no-env` where the secrets are elsewhere.',
  ),
  error(
    'secret/file',
    'A file that a secret names holds it.',
    'secret: { file: key.txt }',
    'Name a file that is there, and write the secret into it.',
  ),
  error('seal/length', 'A seal cannot be guessed.', 'seal: [abc]', 'Give it 16 random characters or more.'),
  error(
    'upstream/base',
    'The base of an upstream is a URL, and is there where the provider has none.',
    'upstreams:\n  mine: { provider: azure, secret: $KEY }',
    'Give it the `base:` of your own account.',
  ),

  error(
    'upstream/caller',
    'A credential of the caller’s own goes to one host as it is.',
    'upstreams:\n  mine: { provider: kling, secret: caller }',
    'Give the upstream a secret of its own.',
  ),
  error(
    'jwt/jwks',
    'The keys of tokens have an address.',
    'jwt: { jwks: https://[x/keys }',
    'Write the address that the identity provider names.',
  ),
  error(
    'upstream/ejection',
    'The first ejection of a target is not longer than the longest.',
    'health: { base_ejection_time: 10m, max_ejection_time: 2m }',
    'Make `max_ejection_time` longer, or `base_ejection_time` shorter.',
  ),
  error(
    'model/back-off',
    'The first interval before a further try is not longer than the longest.',
    'retry: { back_off: { base_interval: 30s, max_interval: 10s } }',
    'Make `max_interval` longer, or `base_interval` shorter.',
  ),
  error(
    'model/pattern',
    'A `*` in the model of a target, and a `list`, stand at a model whose own name has a `*`.',
    'models:\n  small: { targets: [{ upstream: openai, model: "gpt-*" }] }',
    'Name the model, or put a `*` into the name of this one.',
  ),
  error(
    'model/list',
    "A list that is the account's is that of a provider whose file says `models_path`, and of an upstream with a secret of its own.",
    'models:\n  voyage/*: { targets: [{ upstream: voyage }], list: account }',
    'Write the names out, or say `models_path` in the file of the provider.',
  ),
  error(
    'model/alias',
    'A name leads to one model.',
    'models:\n  a: { aliases: [b], targets: [{ upstream: openai }] }\n  b: { targets: [{ upstream: openai }] }',
    'Choose another alias, or take it out.',
  ),
  error(
    'model/default',
    '`default_model` is the name of a model, or an alias of one.',
    'default_model: gpt-5-mimi',
    'Use one of the names that the finding lists.',
  ),
  error(
    'model/patch',
    'A patch of requests is for a dialect in which one of the providers of the model, or of the target, can be asked.',
    "patch: { messages: '…' }  # where every upstream of the model speaks chat alone",
    'Name a dialect that one of the providers speaks.',
  ),
  warning(
    'model/hedge',
    'A model that is hedged has a second target.',
    'models:\n  m: { hedge: { after: 1s }, targets: [{ upstream: openai }] }',
    'Add a target, or take `hedge` out.',
  ),
  error('limits/window', 'Of one window there is one limit.', 'limits: { requests: [10/1m, 20/1m] }', 'Keep the one that is meant.'),
  error(
    'state/address',
    'The state that instances share is the address of a Redis.',
    'state: http://127.0.0.1',
    'Write one such as redis://127.0.0.1:6379/0.',
  ),

  error(
    'key/ips',
    'The networks of a key are addresses, or networks in CIDR notation.',
    'keys: [{ name: me, value: $KEY, ips: [10.0.0.0/40] }]',
    'Write one such as 10.0.0.0/8.',
  ),
  error(
    'admin/store',
    'What is managed is kept in a store.',
    'admin: { listen: 127.0.0.1:8081 }',
    'Add `store: sqlite`, or take `admin` out.',
  ),
  error(
    'store/at',
    'A store is `sqlite`, or the address of a Postgres.',
    'store: $DATABASE  # which holds mysql://…',
    'Write `sqlite`, or an address with `postgres://`.',
  ),
  error(
    'store/folder',
    'The path of the folder of a store leaves room for a socket in it.',
    'store: { at: sqlite, folder: (a path of 200 characters) }',
    'Name a folder with a shorter path.',
  ),

  // What `check --store` finds in it
  error(
    'store/away',
    'The store can be opened.',
    'store: $SLUICE_STORE  # whose server is away',
    'See whether it runs, and what stands in `store`.',
  ),
  error(
    'store/schema',
    "The store's schema is that of this version.",
    'store: { at: sqlite, migrate: none }',
    'Run `sluice store migrate`, or start the gateway.',
  ),
  warning(
    'store/key',
    'A key of the file and one of the store have different names: usage and budgets go by names.',
    'keys: [{ name: demo, value: $KEY }]  # and sluice keys create demo',
    'Call one of them otherwise.',
  ),
  warning(
    'store/team',
    'What the file says of a team holds in place of what the store says.',
    'budgets: { teams: { red: 5/day } }  # and sluice teams create red --budget 9/day',
    'Keep the one that is meant.',
  ),
  warning(
    'store/group',
    'The groups of keys in the store are those of the file.',
    'groups: {}  # and sluice keys create demo --group students',
    'Add the group, or move the keys.',
  ),
  warning(
    'store/model',
    'A budget in the store goes on with a model of the file.',
    'models: {}  # and a budget with when_spent: { use: gpt-5-nano }',
    'Add the model, or change the budget.',
  ),

  // Facts of models
  error(
    'names/model',
    'An entry that another is like stands in `models/`.',
    'like: gpt-55',
    'Name one of `models/` as it is written there.',
  ),
  error(
    'names/meter',
    'A price names a meter that there is.',
    'prices: [{ from: 2026-01-01, inputs: 1 }]',
    'Use one of the meters that the finding lists.',
  ),
  error(
    'models/like',
    'What an entry is like does not lead back to it.',
    'a: { like: b }\nb: { like: a }',
    'Say the facts at one of them.',
  ),
  error(
    'models/dates',
    'The dates of a model follow each other.',
    'retired: 2020-01-01  # before it was released',
    'Look at the source again.',
  ),
  error(
    'models/shadow',
    'Of the patterns that fit a name, one goes before the others.',
    "names: ['gpt-*', '*-mini']",
    'Say one of them more narrowly.',
  ),
  error(
    'models/prices',
    'Prices stand from the oldest to the newest, an exception has a condition, and none is finer than a pico-unit.',
    'prices: [{ from: 2026-01-01 }, { from: 2025-01-01 }]',
    'Write them as the finding says.',
  ),

  // What is surely not meant
  warning(
    'yaml/second-document',
    '`gateway.yaml` is one document: only the first is read.',
    'listen: 127.0.0.1:8080\n---\nkeys: []',
    'Join the documents, or remove the second.',
  ),
  warning(
    'key/wildcard',
    'A pattern of models lets through at least one model.',
    'keys: [{ name: me, value: $KEY, models: [gtp-*] }]',
    'Mend the pattern, or take it out.',
  ),
  warning(
    'key/models',
    'A key may use at least one model.',
    'keys: [{ name: me, value: $KEY, groups: [nobody] }]',
    'Give the key a group of a model, or a pattern that fits one.',
  ),
  warning(
    'key/expired',
    'A key that is listed still holds.',
    "keys: [{ name: me, value: $KEY, expires: '2020-01-01T00:00:00Z' }]",
    'Take the key out, or give it a later date.',
  ),
  warning(
    'key/guessable',
    'A key cannot be guessed. A SHA-256 hides nothing of a word that everybody tries first.',
    'keys: [{ name: me, value: password }]',
    'Make a key with `openssl rand -hex 32`.',
  ),
  warning(
    'secret/literal',
    'A secret is named, not written: `$NAME` or `{ file: path }`. A name without its `$` is sent as the secret itself.',
    'secret: OPENAI_API_KEY',
    'Write a `$` before the name of the variable.',
  ),
  warning(
    'model/weights',
    'A model has a target that is ever chosen.',
    'targets: [{ upstream: a, weight: 0 }]',
    'Give one target a weight above 0.',
  ),

  // Asked of the providers
  error(
    'online/name',
    'The host of an upstream has an address.',
    'base: https://api.exmaple.com',
    'Mend the host, or the DNS of this machine.',
  ),
  error(
    'online/connection',
    'The host of an upstream can be reached.',
    'base: http://127.0.0.1:9',
    'Mend the address, or open the way to it.',
  ),
  error(
    'online/tls',
    'The certificate of an upstream is valid.',
    'base: https://expired.example',
    'Mend the certificate, or tell Node of the authority with NODE_EXTRA_CA_CERTS.',
  ),
  error('online/credential', 'An upstream takes the secret that it is given.', 'secret: $OLD_KEY', 'Put a key in its place that is valid.'),
  error(
    'online/not-found',
    "An upstream has a list of models at its provider's path.",
    'base: https://api.openai.com/wrong',
    'Mend the base.',
  ),
  error(
    'online/status',
    'An upstream answers its list of models well.',
    '(an answer with status 500)',
    "Look at the provider's status page, and at the account.",
  ),
  error('online/timeout', 'An upstream answers in time.', 'base: https://10.255.255.1', 'Mend the address, or try again.'),
  warning(
    'online/model',
    'A model that is asked of an upstream is one that it lists.',
    'models:\n  m: { targets: [{ upstream: openai, model: gpt-55 }] }',
    'Mend the name of the model.',
  ),
]

const BY_ID: ReadonlyMap<string, Rule> = new Map(RULES.map(rule => [rule.id, rule]))

/** The rule that a finding names; codes that JSONata's own parser gives are one rule. */
export function ruleOf(id: string): Rule | undefined {
  return BY_ID.get(/^jsonata\/[A-Z]\d+$/.test(id) ? 'jsonata/syntax' : id)
}

/** Whether a finding lets the file be served all the same. */
export function isWarning(id: string): boolean {
  return ruleOf(id)?.severity === 'warning'
}
