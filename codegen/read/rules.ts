// Every rule that a finding can name: its sentence, an example that breaks it, and the remedy. docs/rules/ is generated
// from this list, and a test checks that findings name no other rule.

export interface Rule {
  /** `group/name`, as findings print it. */
  id: string
  /** A warning reports a probable mistake, and the file is still served; anything else is an error. */
  severity: 'error' | 'warning'
  /** The rule. */
  sentence: string
  /** A violation, as it appears in a file. */
  example: string
  /** The remedy. */
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
  error('file/missing', 'The file that a command names can be read.', 'sluice check missing.yaml', 'Name an existing file.'),
  error(
    'provider/extends',
    '`extends` names another provider, or the built-in one of the same name, without a circle.',
    'extends: opnai',
    'Name a built-in provider, or another file of providers/, without `.yaml`.',
  ),
  error(
    'provider/drop',
    "A path of `drop` leads to a member of the dialect's requests.",
    "speaks: { chat: { path: /v1/chat/completions, drop: ['messages[].reason'] } }",
    'Name the path of a member as in `schemas/<dialect>/request.yaml`, or remove it.',
  ),
  error(
    'provider/event',
    '`event` patches events of a dialect that has a stream.',
    "speaks: { embeddings: { path: /v1/embeddings, event: '$' } }",
    'Remove it; `response` patches whole answers.',
  ),
  error(
    'provider/subprotocol',
    '`subprotocol` is for a dialect with a route that opens a socket.',
    'speaks: { chat: { path: /v1/chat/completions, subprotocol: realtime } }',
    'Remove it, or add a route with `upgrade: websocket`.',
  ),
  error(
    'provider/task',
    'A path with `{task}` is of a dialect with a route that follows tasks.',
    "speaks: { chat: '/v1/{task}/chat' }",
    'Remove the placeholder, or add `follow` to a route of the dialect.',
  ),
  warning(
    'provider/member',
    'The members that `drop`, `rename` and `refuse` name are members of the dialect’s requests. A name that resembles none of them may be the provider’s own.',
    'speaks: { chat: { path: /v1/chat/completions, drop: [seeed] } }',
    'Correct the name.',
  ),
  warning(
    'names/trait',
    'A mapping, a format or the gateway reads each trait. A name that resembles no known one may be your own.',
    'traits: { image: false }   # the trait is `images`',
    'Correct the name.',
  ),
  error(
    'route/member',
    'What a route names in a request or an answer is there: a placeholder of its path, or a member of the dialect’s schema.',
    'path: /v1/tasks/{task_id}\nfollow: path.id',
    'Correct the name, or add it to the path or the schema.',
  ),
  error(
    'route/model',
    'The requests of a route have the part that its `model` names.',
    'path: /v1/realtime\nmodel: path.model',
    'Put the placeholder into the path, or name another part of the request. A socket has no body: its path or its query names the model.',
  ),
  error(
    'route/conversation',
    'The dialect of a route with `conversation` says what a conversation is.',
    'dialect: chat\nconversation: { answer: \'{ "body": {} }\' }',
    'Give the dialect a `keep` with `conversation`, or name a dialect that has one.',
  ),
  error(
    'file/unreadable',
    'Every file of the folders beside gateway.yaml can be read.',
    '# routes/mine.yaml belongs to another user, mode 0600',
    'Give the user that runs the gateway the right to read the file.',
  ),
  warning(
    'overlay/unread',
    'Each YAML file of the folders beside gateway.yaml is at a place from which it is read, and each folder has the name that is read.',
    '# routes/mine.yml, providers/more/mine.yaml, route/mine.yaml',
    'Give the file or the folder the name in the finding. docs/overlay.md has the names.',
  ),
  error(
    'cache/folder',
    'The gateway’s user owns the folder that `cache` names, and can write to it.',
    'cache: /usr/share/sluice',
    'Name a folder of the user that runs the gateway, or remove `cache`.',
  ),
  error(
    'yaml/syntax',
    'A file is valid YAML without duplicate keys.',
    'listen: 127.0.0.1:8080\nlisten: 127.0.0.1:8081',
    'Correct the file at the position of the finding.',
  ),
  error(
    'yaml/empty',
    'A file has content: one that is empty, or has only comments or `null`, may be about to be written again, so that it does not count as absent.',
    '# gateway.yaml, in which nothing is left',
    'Write the file, or remove it. `{}` is a file in which everything has its default.',
  ),
  error(
    'yaml/documents',
    'A file that describes one thing has one document.',
    'title: One\n---\ntitle: Two',
    'Move the second document to a file of its own.',
  ),

  // Budgets
  error(
    'budget/store',
    'Budgets are counted in a store.',
    'keys: [{ name: ci, value: $SLUICE_CI_KEY, budget: 5/day }]   # and no store',
    'Add `store: sqlite`, or remove the budgets.',
  ),
  error('budget/window', 'A list of budgets has each window once.', 'budget: [5/day, 10/day]', 'Keep one of them.'),
  error(
    'budget/zone',
    'A time zone is one of the IANA database.',
    'budgets: { zone: Europe/Bonn }',
    'Write one such as Europe/Berlin, or UTC.',
  ),
  error(
    'budget/metrics',
    'A budget for each key or end user has no metrics, because each of them would be a series.',
    'budgets: { end_user: { limit: 1/day, metrics: true } }',
    'Remove `metrics`, or set it at the budgets of named keys or end users.',
  ),

  // Metrics
  error(
    'names/metric',
    '`metrics.without` names metrics, or labels of counters and histograms as `metric.label`.',
    'metrics: { without: [sluice_request_total] }',
    'Use one of the names that the finding lists. docs/operating.md has all metrics with their labels.',
  ),
  error(
    'metrics/admin',
    '`metrics` is about the page of the admin address, so it needs one.',
    'store: sqlite\nmetrics: { without: [sluice_token_seconds] }',
    'Add `admin: { listen: 127.0.0.1:8081 }`, or remove `metrics`.',
  ),

  // Relays
  error(
    'relay/path',
    'Each relay has a path of its own.',
    'relay:\n  one: { path: /vendor/*, upstream: a }\n  two: { path: /vendor/*, upstream: b }',
    'Give each its own path. If one path is below the other, the longer one counts.',
  ),
  error(
    'relay/shadows',
    'A relay hides no other route, unless it has `replaces: true`.',
    'relay:\n  all: { path: /v1/*, upstream: openai }',
    'Choose another path, or add `replaces: true`.',
  ),

  // Calls
  error(
    'call/url',
    'The address of a service is an HTTP URL.',
    'call:\n  filter: { at: request, url: $FILTER_URL, send: request }   # and FILTER_URL=filter:9000',
    'Write one such as http://127.0.0.1:9000/filter.',
  ),
  error(
    'call/may',
    '`may` lists only actions that are possible when the service is called (`at`).',
    'call:\n  login: { at: admit, url: http://127.0.0.1:9000, send: key.name, may: [replace] }',
    'Call it at another moment, or remove the action.',
  ),
  warning(
    'call/streams',
    'A service that checks answers cannot see streams, so `streams` says whether they pass.',
    'call:\n  filter: { at: answer, url: http://127.0.0.1:9000, send: answer }',
    'Add `streams: refuse` or `streams: pass`.',
  ),
  error(
    'names/route',
    'A pattern of routes matches at least one route.',
    'call:\n  filter: { at: request, url: http://127.0.0.1:9000, send: request, routes: [chats] }',
    'Use a name that `sluice routes` lists.',
  ),

  // Patterns
  error(
    'format/text',
    'A path of `texts` leads to a text in the dialect’s schema.',
    'texts: { request: [messages[].contents] }',
    'Name the path of a text, or remove it.',
  ),
  error(
    'pattern/syntax',
    'A pattern is an RE2 expression.',
    "patterns:\n  twice: { match: '(\\w+) \\1' }",
    'Write it without back references and lookaround: https://github.com/google/re2/wiki/Syntax.',
  ),

  warning(
    'pattern/unseen',
    'A pattern can look at every route that it is for.',
    'relay: { files: { path: /v1/files/*, upstream: openai } }\npatterns: { mail: { match: "@" } }',
    'Name the other routes with `routes`; keep keys that are bound to patterns off a relay with their own `routes`; give a dialect of your own `texts`.',
  ),

  // Grammar
  error(
    'grammar/unknown-key',
    'The grammar of the file describes every key.',
    'listen: 127.0.0.1:8080\ncolour: red',
    'Use one of the keys that the finding lists, or remove the key.',
  ),
  error('grammar/missing-key', 'Every required key is present.', 'upstreams:\n  openai: { secret: $OPENAI_API_KEY }', 'Add the key.'),
  error(
    'grammar/value',
    'A value is one of the allowed values, or has the form that its key requires.',
    'grace: 60 seconds',
    'Write the value as the finding says.',
  ),
  error('grammar/name', 'The name of a member has the required form.', 'tables:\n  Stop-Reason: { end: stop }', 'Choose another name.'),
  error(
    'grammar/not',
    'Keys that exclude each other are not used together.',
    'answer: \'{ "ok": true }\'\nfail: not_found',
    'Keep one of them.',
  ),
  error('grammar/type', 'A value has the type of its key.', 'workers: many', 'Write a value of the type that the finding names.'),
  error(
    'grammar/const',
    'A key with one allowed value has that value.',
    'failure: { in: {}, out: { kind: upstream }, invalid: false }',
    'Write the value that the finding names.',
  ),
  error('grammar/minLength', 'A required text is not empty.', 'name: ""', 'Write the text.'),
  error('grammar/minimum', 'A number is not below the minimum of its key.', 'workers: 0', 'Write a larger number.'),
  error('grammar/maximum', 'A number is not above the maximum of its key.', 'workers: 5000', 'Write a smaller number.'),
  error('grammar/minItems', 'A required list is not empty.', 'models:\n  m: { targets: [] }', 'Add an item.'),
  error(
    'grammar/maxItems',
    'A list has at most as many items as its key allows.',
    'requests: [1/1s, 2/2s, 3/3s, 4/4s, 5/5s, 6/6s, 7/7s, 8/8s, 9/9s]',
    'Remove some.',
  ),
  error('grammar/uniqueItems', 'A list has no duplicate items.', 'groups: [a, a]', 'Remove the second one.'),
  error('grammar/minProperties', 'A required object is not empty.', 'speaks: {}', 'Add a member.'),
  error('grammar/anyOf', 'A value has one of the forms that its key allows.', 'path: 1', 'Write it in one of the forms of docs/reference.'),

  // References to other files
  error(
    'names/file',
    'Folders and files have names that can be names of dialects and providers.',
    'providers/My Provider.yaml',
    'Use lower-case letters and digits, joined by `_`.',
  ),
  error(
    'names/dialect',
    'Every dialect has a folder in `schemas/`.',
    'speaks: { massages: /v1/messages }',
    'Use one of the dialects that the finding lists, or add the folder.',
  ),
  error(
    'names/credential',
    'Every key location is defined in `routes/_credentials.yaml`.',
    'auth: [cookie]',
    'Use a defined one, or add it.',
  ),
  error('names/kind', 'Every kind of failure exists.', 'fail: teapot', 'Use one of the kinds that the finding lists.'),
  error(
    'names/part',
    'Every library part is a file of `mappings/library/`.',
    'uses: [chats]',
    'Use one of the parts that the finding lists, or add the file.',
  ),
  error(
    'names/function',
    'A mapping sees one definition of each function.',
    'uses: [a, b]  # both define $text',
    'Choose another name, or use the existing function.',
  ),
  error(
    'names/shared',
    'The parts that a mapping uses define each table, and each rule of a field, once.',
    'uses: [a, b]  # both have a rule for the field n',
    'Define it in one of them. A mapping may override the rule of a field, but not the table of a part.',
  ),
  error(
    'names/provider',
    'The provider of an upstream is a file of `providers/`.',
    'upstreams:\n  mine: { provider: opnai, secret: none }',
    'Use one of the providers that the finding lists, or add the file.',
  ),
  error(
    'names/upstream',
    'The upstream that a target or a scenario names is defined under `upstreams:`.',
    'models:\n  m: { targets: [{ upstream: missing }] }',
    'Use a defined one, or add it.',
  ),
  error(
    'names/key',
    'The key that a scenario names is a key of the configuration.',
    'client: { key: nobody, … }',
    'Use one of the keys that the finding lists.',
  ),
  error(
    'names/group',
    'If the file has `groups:`, it defines every group that a key or a model names.',
    'groups: { team: {} }\nkeys: [{ name: me, value: $KEY, groups: [taem] }]',
    'Use one of the groups that the finding lists, or add it.',
  ),
  error(
    'names/fact',
    'The model in `known_as` has an entry in `models/`.',
    'models:\n  m: { targets: [{ upstream: azure, model: mine, known_as: gpt-55 }] }',
    'Name one that `sluice models` shows.',
  ),
  error(
    'names/page',
    'Every page is defined in `routes/`.',
    'pages: { prices: [default] }',
    'Use one of the pages that the finding lists.',
  ),
  error(
    'overlay/exists',
    'A file of your own has a new name, or replaces a built-in one with `replaces: true`.',
    '# providers/openai.yaml beside gateway.yaml\ntitle: OpenAI',
    'Choose another name, or add `replaces: true`.',
  ),

  // Routes, schemas, formats
  error('route/name', 'Each route has a name of its own.', 'name: chat\n---\nname: chat', 'Choose another name, or add `replaces: true`.'),
  error(
    'route/path',
    'No two routes answer the same request.',
    'path: /v1/models\n---\npath: /v1/models',
    'Choose another path, or distinguish them with `when:`.',
  ),
  error(
    'schema/missing',
    'A dialect whose requests the gateway reads has a schema for them.',
    'dialect: mine  # without schemas/mine/request.yaml',
    'Add the schema.',
  ),
  error('schema/reference', 'A `$ref` leads to an existing schema.', "$ref: '#/$defs/missing'", 'Correct the reference.'),
  error('schema/keyword', 'A schema is written in JSON Schema 2020-12.', 'type: text', 'Write a valid JSON Schema keyword.'),
  error(
    'format/like',
    '`like` of a dialect names another dialect, or the built-in one of the same name, without a circle.',
    'like: chatt  # in schemas/mine/format.yaml',
    'Name another dialect, a folder of schemas/.',
  ),
  error(
    'route/like',
    '`like` of a route names another route, or the built-in one of the same name, without a circle.',
    'like: mesages',
    'Name another route; `sluice routes` lists them.',
  ),
  error(
    'format/error',
    'Dialects that reuse each other’s errors do not form a circle.',
    'error: mine  # in schemas/mine/format.yaml',
    'Name a dialect that defines its errors itself.',
  ),
  error(
    'format/rate_limits',
    '`rate_limits` names a dialect that defines its headers itself.',
    'rate_limits: chat  # where chat names another dialect, too',
    'Name a dialect that defines them.',
  ),
  error(
    'format/clean',
    '`clean` names a dialect that defines itself what it removes.',
    'clean: speech  # where speech removes nothing',
    'Name a dialect that defines it.',
  ),
  error(
    'format/member',
    'What a format names in a request, as the member that asks for a stream, is not a slip of a member of the dialect’s schema.',
    'stream: { flag: body.streem }',
    'Correct the name, or add it to the schema.',
  ),
  error(
    'format/keep',
    '`keep` names a dialect that defines itself how its answers are kept.',
    'keep: chat  # where chat keeps no answers',
    'Name a dialect that defines it.',
  ),

  // Mappings
  error(
    'ledger/rest',
    'A mapping with `rest: pass` carries the whole request over.',
    'request: \'{ "model": $ctx.model }\'\nfields: { rest: pass }',
    "Write `request: '$merge([$, { … }])'`, or remove `rest`.",
  ),
  error(
    'ledger/unmapped',
    "Every field of the client's request is read by the mapping, or listed with the reason why not.",
    'fields: {}  # while the schema has `seed`',
    'Map the field, or list it under `fields.dropped` or `fields.refused`.',
  ),
  error(
    'ledger/unknown',
    'A row of `fields` is for a field that the request has.',
    'fields: { dropped: { sede: it has none } }  # the schema has `seed`',
    'Correct the name, or remove the row.',
  ),
  error(
    'mapping/define',
    'Every definition is a function.',
    "define: { four: 'function($x) { $x * 2 }(2)' }",
    'Write the parameters with its name, `double($x): $x * 2`, or the whole as `function($x) { … }`.',
  ),
  error(
    'mapping/on',
    'The kinds in `on` can occur: the schema of the provider’s events has them, and the loop around the step is for them. `done` is the only kind of its step, which is outside of loops.',
    'on: [done, message_start]',
    'Write a step for `done` alone, or use `when:`.',
  ),
  error(
    'mapping/copies',
    'A step adds to a list or an object by `$append` or `$merge` in its `set`, not in a function, and does not read its old value: otherwise each event copies it, and the cost of a stream grows with the square of its length.',
    '{ set: \'{ "seen": $append($state.seen, [text]) }\', emit: \'{ "n": $count($was.seen) }\' }',
    'Read `$state`, which has the new item already: `$count($state.seen) - 1`.',
  ),
  error(
    'mapping/whole',
    'A step that also writes whole answers does not fail.',
    'writes: { end: [{ name: it ends, fail: … }, { name: it is whole, whole: … }] }',
    'Report the failure in `failure`, or write the whole answer by a function `write_answer`.',
  ),
  error(
    'mapping/when',
    'The condition of a stream step can be true.',
    "steps: [{ name: text begins, when: 'false', emit: '{}' }]",
    'Correct the condition, or remove the step.',
  ),
  error(
    'mapping/tell',
    'Each term that a stream step tells has steps under `writes`, in the mapping or in a part that it uses.',
    'steps: [{ name: text, tell: { text: delta.text } }]   # and no writes: { text: […] }',
    "Use the part for the client's dialect, or define the term under `writes`.",
  ),
  error(
    'mapping/sent',
    'A dropped field has `sent`, if it is sent in another form, or `when`, but not both; a refused field has no `sent`.',
    'dropped: { seed: { why: x, when: seed > 1, sent: seed } }',
    'Keep one of the two.',
  ),

  error(
    'mapping/member',
    'An object that a mapping writes has only members that its schema names: the provider’s request, the client’s answer, its events.',
    'request: \'{ "model": $ctx.model, "txet": text }\'',
    'Correct the name, or add the member to the schema.',
  ),
  error(
    'mapping/value',
    'A mapping writes only words that the schema lists.',
    'request: \'{ "role": "assistent" }\'',
    'Correct the word, or add it to the schema.',
  ),
  error(
    'mapping/type',
    'A mapping writes only values of types that the schema accepts.',
    'request: \'{ "max_tokens": "many" }\'',
    'Write a value of another type, or correct the schema.',
  ),
  error(
    'mapping/missing',
    'An object that a mapping writes has the members that its schema requires.',
    'request: \'{ "messages": [] }\'  # the schema requires `model`',
    'Add the member, or correct the schema.',
  ),

  error(
    'mapping/term',
    'The halves of dialects make, read and name only terms of schemas/conversation.yaml.',
    'read_ask: \'function($asked) { { "turnz": … } }\'   # the term is `turns`',
    'Correct the name: docs/data-language.md has a section about halves, and schemas/conversation.yaml lists the terms.',
  ),

  // Expressions
  error(
    'jsonata/syntax',
    'An expression is valid JSONata. The finding names JSONata’s own error code, such as `jsonata/S0202`.',
    'request: \'{ "model": $ctx.model\'',
    'Correct the expression at the position of the finding.',
  ),
  error(
    'jsonata/undeclared',
    'A variable is declared before it is used.',
    'request: \'{ "model": $modle }\'',
    'Declare it; docs/data-language.md lists the variables of each kind of expression.',
  ),
  error('jsonata/chance', 'An expression is deterministic.', 'request: \'{ "id": $random() }\'', 'Use `$ctx.id` and `$ctx.created`.'),
  error(
    'jsonata/eval',
    'An expression is compiled before it is used, so it cannot contain another one as a text.',
    'request: \'{ "text": $eval(prompt) }\'',
    'Write the expression itself.',
  ),
  error(
    'jsonata/depth',
    'An expression has at most 500 levels.',
    'request: a & b & c & …  # five thousand of them',
    'Split it with variables or functions, or use `$join` for a long chain of `&`.',
  ),
  error('jsonata/call', 'A function call has a `$` before the name.', 'request: \'{ "n": sum(list) }\'', 'Put a `$` before the name.'),
  error(
    'jsonata/hidden',
    'A variable that hides a built-in function is not called.',
    'request: \'( $type := kind; { "is_text": $type(text) = "string" } )\'',
    'Give the variable another name, or do without the function where the expression is given the variable, as `error.body` is given `$type`.',
  ),
  error(
    'jsonata/copies',
    'A fold adds to what it collects by `$append` in its own result, and not in a function that it calls: otherwise each iteration copies the list, and the cost grows with the square of its length.',
    "define: { joined($all): '$reduce($all, function($sum, $one) { { \"done\": $put($sum.done, $one) } }, {})', put($list, $one): '$append($list, [$one])' }",
    'Write `{ "done": $append($sum.done, [$one]) }` in the fold, and read `$sum.done` nowhere else in it.',
  ),
  error(
    'jsonata/table',
    'A table that an expression names exists, and has a row for each value that the schema allows.',
    '$lookup($tables.stop, finish_reason)',
    'Declare the table; add the rows, or a row `_` for all others, or a default with `??`.',
  ),
  error(
    'jsonata/field',
    'An expression reads only fields of the schema: of requests, answers and events.',
    'request: \'{ "text": txet }\'',
    'Correct the name, or add the field to the schema.',
  ),
  error(
    'jsonata/query',
    'An expression reads only members of the query that a route of the dialect forwards.',
    'request: \'{ "variant": $query.varaint }\'  # the route says forward_query: [variant]',
    'Correct the name, or add it to `forward_query` of the route.',
  ),
  error(
    'jsonata/context',
    'An expression reads only existing members of `$ctx`.',
    'request: \'{ "model": $ctx.modle }\'',
    'Correct the name; docs/data-language.md lists the members.',
  ),
  error(
    'jsonata/state',
    'An expression of a step reads only members of `$state` that `state` declares.',
    'state: { begun: false }\nsteps: [{ name: it begins, when: $not($state.begnu), emit: … }]',
    'Correct the name, or declare the member.',
  ),
  error('jsonata/key', 'An object has each key once.', '\'{ "a": 1, "a": 2 }\'', 'Remove one of the two.'),
  error(
    'jsonata/node',
    'The compiler knows every construct of an expression.',
    '(an expression of a later version of JSONata)',
    'Write it in another way.',
  ),
  error(
    'jsonata/operator',
    'The compiler knows every operator of an expression.',
    '(an operator of a later version of JSONata)',
    'Write it in another way.',
  ),

  // Cases
  error(
    'case/different',
    'A mapping returns what its case expects, and a gateway does what its exchange or scenario expects.',
    'request: { in: { n: 1 }, out: { n: 2 } }',
    'Correct the mapping, the configuration or the case.',
  ),
  error(
    'case/compiler',
    'Compiled code and JSONata’s interpreter agree.',
    '(a fault of Sluice)',
    'Write the expression in another way, and report the fault.',
  ),
  error(
    'case/schema',
    'The bodies in a case satisfy the schemas of both dialects.',
    'request: { in: { model: 1 } }',
    'Correct the case, the mapping or the schema.',
  ),
  error(
    'case/property',
    'For every valid value of one dialect, a mapping returns a valid value of the other, or refuses it. The finding shows the smallest value for which it does neither.',
    'request: \'{ "model": $ctx.model, "n": n }\'  # the provider takes 1 only',
    'Correct the mapping or a schema, and add a case with the value.',
  ),
  error(
    'case/secret',
    'In a scenario, no client and no log line gets the secret of an upstream, and no upstream gets the key of a caller.',
    'answers: { body: { text: secret-of-one } }',
    'Correct the configuration, or remove the secret from the answer.',
  ),
  error(
    'case/error',
    'The expressions of a mapping run without an error in each case.',
    'request: \'$error("no")\'',
    'Correct the expression.',
  ),
  error('case/known', 'A case with `known` fails.', 'known: 12', 'Remove `known`: the case passes now.'),
  error('case/empty', 'A file of cases has at least one case.', '(an empty file)', 'Write a case, or remove the file.'),
  error('case/missing', 'Each part of a mapping has a case.', 'response: …  # and no case with response:', 'Add a case.'),
  error(
    'case/step',
    'Each step of a stream runs in some case: of the mapping, or of any mapping that uses the part of the library with the step.',
    'steps: [{ name: text begins, … }]  # and no case with such an event',
    'Add a case whose events run it, or remove the step.',
  ),

  // gateway.yaml
  error('key/name', 'The names of keys are unique.', 'keys: [{ name: me, value: $A }, { name: me, value: $B }]', 'Give each its own name.'),
  error(
    'key/value',
    'The values of keys are unique.',
    'keys: [{ name: a, value: $A }, { name: b, value: $A }]',
    'Give each its own value.',
  ),
  error(
    'secret/environment',
    'The environment variable that a secret names is set, and has one line. White space around it is not a part of it.',
    'secret: $OPENAI_API_KEY',
    'Set it, remove the entry, or check with `--no-env` on a machine without the secrets.',
  ),
  error(
    'secret/file',
    'The file that a secret names contains it, on one line. White space around it is not a part of it.',
    'secret: { file: key.txt }',
    'Name an existing file that contains the secret.',
  ),
  error('seal/length', 'A seal is too long to be guessed.', 'seal: [abc]', 'Give it 16 random characters or more.'),
  error(
    'upstream/base',
    'The base of an upstream is a URL, and is required if the provider has none.',
    'upstreams:\n  mine: { provider: azure, secret: $KEY }',
    'Give it the `base:` of your own account.',
  ),

  error(
    'upstream/caller',
    'An upstream with `secret: caller` has one host, and a provider that takes the credential unchanged.',
    'upstreams:\n  mine: { provider: kling, secret: caller }',
    'Give the upstream its own secret.',
  ),
  error('jwt/jwks', '`jwks` is a valid URL.', 'jwt: { jwks: https://[x/keys }', 'Write the URL from the identity provider.'),
  error(
    'upstream/ejection',
    '`base_ejection_time` is not longer than `max_ejection_time`.',
    'health: { base_ejection_time: 10m, max_ejection_time: 2m }',
    'Make `max_ejection_time` longer, or `base_ejection_time` shorter.',
  ),
  error(
    'model/back-off',
    '`base_interval` is not longer than `max_interval`.',
    'retry: { back_off: { base_interval: 30s, max_interval: 10s } }',
    'Make `max_interval` longer, or `base_interval` shorter.',
  ),
  error(
    'model/pattern',
    'Only a model with a `*` in its own name has a `list`, or a `*` in the model of a target.',
    'models:\n  small: { targets: [{ upstream: openai, model: "gpt-*" }] }',
    'Name the model, or put a `*` into the name of this one.',
  ),
  error(
    'model/list',
    '`list: account` needs a provider whose file has `models_path`, and an upstream with its own secret.',
    'models:\n  voyage/*: { targets: [{ upstream: voyage }], list: account }',
    'List the names, or add `models_path` to the file of the provider.',
  ),
  error(
    'model/alias',
    'The names and aliases of models are unique.',
    'models:\n  a: { aliases: [b], targets: [{ upstream: openai }] }\n  b: { targets: [{ upstream: openai }] }',
    'Choose another alias, or remove it.',
  ),
  error(
    'model/default',
    '`default_model` is the name of a model, or an alias of one.',
    'default_model: gpt-5-mimi',
    'Use one of the names that the finding lists.',
  ),
  error(
    'model/patch',
    'A patch of requests is for a dialect that one of the providers of the model, or of the target, speaks.',
    "patch: { messages: '…' }  # where every upstream of the model speaks chat alone",
    'Name a dialect that one of the providers speaks.',
  ),
  warning(
    'model/hedge',
    'A model with `hedge` has at least two targets.',
    'models:\n  m: { hedge: { after: 1s }, targets: [{ upstream: openai }] }',
    'Add a target, or remove `hedge`.',
  ),
  error('limits/window', 'Each window has one limit.', 'limits: { requests: [10/1m, 20/1m] }', 'Keep one of them.'),
  error(
    'state/address',
    '`state` is the address of a Redis server.',
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
    'key/expires',
    'The day on which a key expires is in the calendar.',
    "keys: [{ name: me, value: $KEY, expires: '2027-02-30' }]",
    'Write a day that the month has.',
  ),
  error('admin/store', '`admin` needs a store.', 'admin: { listen: 127.0.0.1:8081 }', 'Add `store: sqlite`, or remove `admin`.'),
  error(
    'admin/listen',
    'The admin API has an address of its own.',
    'listen: 127.0.0.1:8080\nstore: sqlite\nadmin: { listen: 127.0.0.1:8080 }',
    'Give one of them another port.',
  ),
  error(
    'store/at',
    'A store is `sqlite`, or the address of a Postgres.',
    'store: $DATABASE  # which contains mysql://…',
    'Write `sqlite`, or an address with `postgres://`.',
  ),
  error(
    'store/folder',
    'The path of the store’s folder is short enough for the path of a socket in it.',
    'store: { at: sqlite, folder: (a path of 200 characters) }',
    'Name a folder with a shorter path.',
  ),

  // Found by `check --store`
  error(
    'store/away',
    'The store can be opened.',
    'store: $SLUICE_STORE  # whose server is down',
    'Check that it runs, and that `store` is right.',
  ),
  error(
    'store/schema',
    'The schema of the store is that of this version.',
    'store: { at: sqlite, migrate: none }',
    'Run `sluice store migrate`, or start the gateway.',
  ),
  error(
    'store/currency',
    'The amounts in the store are in `currency`.',
    'currency: EUR  # and a store that began with USD',
    'Write the currency of the store, or use another store.',
  ),
  warning(
    'store/key',
    'Keys of the file and of the store have different names: budgets and kept answers belong to a name, so the store’s key is refused with 403.',
    'keys: [{ name: demo, value: $KEY }]  # and a key demo in the store',
    'Remove one of them, or give the key of the file another name.',
  ),
  warning(
    'store/team',
    'A team’s budget is set in the file or in the store; the file’s wins.',
    'budgets: { teams: { red: 5/day } }  # and sluice teams create red --budget 9/day',
    'Keep one of them.',
  ),
  warning(
    'store/group',
    'The file defines every group of a key in the store.',
    'groups: {}  # and sluice keys create demo --group students',
    'Add the group, or move the keys.',
  ),
  warning(
    'store/model',
    'The file defines every model that a budget in the store falls back to.',
    'models: {}  # and a budget with when_spent: { use: gpt-5-nano }',
    'Add the model, or change the budget.',
  ),

  // Facts of models
  error('names/model', '`like` and `confirmed` name entries of `models/`.', 'like: gpt-55', 'Name an existing entry.'),
  error(
    'names/meter',
    'A price, and what is read as usage, names an existing meter.',
    'prices: [{ from: 2026-01-01, inputs: 1 }]',
    'Use one of the meters that the finding lists.',
  ),
  error(
    'models/like',
    'Entries that are `like` each other do not form a circle.',
    'a: { like: b }\nb: { like: a }',
    'State the facts at one of them.',
  ),
  error('models/dates', 'The dates of a model are in order.', 'retired: 2020-01-01  # before it was released', 'Check the source again.'),
  error(
    'models/shadow',
    'If several patterns match a name, one is more specific than the others.',
    "names: ['gpt-*', '*-mini']",
    'Make one of them more specific.',
  ),
  error(
    'models/prices',
    'Prices are listed from the oldest to the newest, an exception has a condition, and no price is finer than a pico-unit.',
    'prices: [{ from: 2026-01-01 }, { from: 2025-01-01 }]',
    'Write them as the finding says.',
  ),

  // Probable mistakes
  warning(
    'yaml/second-document',
    '`gateway.yaml` is one document: only the first is read.',
    'listen: 127.0.0.1:8080\n---\nkeys: []',
    'Join the documents, or remove the second.',
  ),
  warning(
    'key/wildcard',
    'A pattern of models matches at least one model.',
    'keys: [{ name: me, value: $KEY, models: [gtp-*] }]',
    'Correct the pattern, or remove it.',
  ),
  warning(
    'key/routes',
    'A pattern of routes matches at least one route.',
    'keys: [{ name: me, value: $KEY, routes: [chatt] }]',
    'Correct the pattern; `sluice routes` lists the names.',
  ),
  warning(
    'key/models',
    'A key may use at least one model.',
    'keys: [{ name: me, value: $KEY, groups: [nobody] }]',
    'Give the key a group of a model, or a pattern that matches one.',
  ),
  warning(
    'store/unwritable',
    'The folder of the store can be made and written by the user that runs the gateway.',
    'store: { folder: /var/lib/elsewhere }',
    'Name a folder that this user can write, or check as the user that runs the gateway.',
  ),
  warning(
    'keys/none',
    'Someone can call the models: there is a key, a store that may have keys, or an identity provider.',
    'models: { m: { targets: [{ upstream: one }] } }',
    'Add `keys`, `store` or `jwt`.',
  ),
  warning(
    'key/expired',
    'A listed key has not expired.',
    "keys: [{ name: me, value: $KEY, expires: '2020-01-01T00:00:00Z' }]",
    'Remove the key, or give it a later date.',
  ),
  warning(
    'key/guessable',
    'A key cannot be guessed: it has 12 characters or more, and is no common word, which a SHA-256 does not hide.',
    'keys: [{ name: me, value: password }]',
    'Make a key with `openssl rand -hex 32`.',
  ),
  warning(
    'secret/literal',
    'A secret is a reference: `$NAME` or `{ file: path }`. A name without its `$` is sent as the secret itself.',
    'secret: OPENAI_API_KEY',
    'Write a `$` before the name of the variable.',
  ),
  warning(
    'seal/shared',
    'A store in Postgres, which several instances may share, has a seal: each of them would seal kept answers and conversations with a key of its own, and the others would not find them.',
    'store: $SLUICE_STORE',
    'Add `seal: [$SLUICE_SEAL]`, with the same secret at every instance, or `kept: { for: none }`.',
  ),
  warning(
    'budget/price',
    'A model that a budget limits has a known price: a budget refuses what it cannot count.',
    'store: sqlite\nbudgets: { all: 10/day }\nmodels: { mine: { targets: [{ upstream: local }] } }',
    'Give the model `price: { input: …, output: … }`, which may be 0, or its target `known_as`, or the budget `when_spent: warn`.',
  ),
  warning(
    'model/weights',
    'A model has a target that can be chosen.',
    'targets: [{ upstream: a, weight: 0 }]',
    'Give one target a weight above 0.',
  ),

  // Found by asking the providers
  error(
    'online/name',
    'The host name of an upstream resolves.',
    'base: https://api.exmaple.com',
    'Correct the host name, or the DNS of this machine.',
  ),
  error(
    'online/connection',
    'The host of an upstream can be reached.',
    'base: http://127.0.0.1:9',
    'Correct the address, or open the network path to it.',
  ),
  error(
    'online/tls',
    'The certificate of an upstream is valid.',
    'base: https://expired.example',
    'Repair the certificate, or add its authority with NODE_EXTRA_CA_CERTS.',
  ),
  error('online/credential', 'An upstream accepts the configured secret.', 'secret: $OLD_KEY', 'Configure a valid key.'),
  error(
    'online/not-found',
    "An upstream has a list of models at its provider's path.",
    'base: https://api.openai.com/wrong',
    'Correct the base.',
  ),
  error(
    'online/status',
    'An upstream returns its list of models.',
    '(an answer with status 500)',
    "Check the provider's status page, and the account.",
  ),
  error('online/timeout', 'An upstream answers in time.', 'base: https://10.255.255.1', 'Correct the address, or try again.'),
  warning(
    'online/model',
    'An upstream lists every model that is called there.',
    'models:\n  m: { targets: [{ upstream: openai, model: gpt-55 }] }',
    'Correct the name of the model.',
  ),
]

const BY_ID: ReadonlyMap<string, Rule> = new Map(RULES.map(rule => [rule.id, rule]))

/** The rule that a finding names; all error codes of JSONata's own parser belong to one rule. */
export function ruleOf(id: string): Rule | undefined {
  return BY_ID.get(/^jsonata\/[A-Z]\d+$/.test(id) ? 'jsonata/syntax' : id)
}

/** Whether the file is served in spite of a finding. */
export function isWarning(id: string): boolean {
  return ruleOf(id)?.severity === 'warning'
}
