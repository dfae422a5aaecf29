// The templates of `sluice init` and `sluice new`: they pass `check` and `test` unchanged; comments show what to change.

/** gateway.yaml; `sha256` is the hash of the caller's key. */
export function gatewaySkeleton(sha256: string): string {
  return `# The configuration of a gateway. docs/reference/gateway.md lists every key; \`sluice check\` finds errors.

# The address that clients connect to.
listen: 127.0.0.1:8080

# Who may call: the SHA-256 of each key. Another one: openssl rand -hex 32 | tee /dev/stderr | tr -d '\\n' | sha256sum
keys:
  - name: me
    sha256: ${sha256}
    # models: [sim*]      # only these
    # expires: '2030-01-01T00:00:00Z'

# Accounts with providers. \`sluice routes\` lists what is served.
upstreams:
  # The simulator, which \`sluice simulate\` starts: it costs nothing.
  simulator: { provider: openai, base: http://127.0.0.1:8090, secret: none }
  # openai: { provider: openai, secret: $OPENAI_API_KEY }
  # local: { provider: openai, base: http://127.0.0.1:11434, secret: none }

# Models as clients call them, and who serves each, in order of priority.
models:
  sim: { targets: [{ upstream: simulator }] }
  # gpt-5:
  #   targets:
  #     - { upstream: openai }
  #     - { upstream: local, model: gpt-oss, priority: 2 }
`
}

export function providerSkeleton(name: string): string {
  return `# A provider. docs/reference/provider.md lists every key.
title: ${name}
# Where its documentation says so.
source: https://example.com/docs
base: https://api.example.com
credential: { header: authorization, prefix: 'Bearer ' }
secret_env: ${name.toUpperCase().replaceAll('-', '_')}_API_KEY
# The names of its models, for \`sluice start\` without a file.
models: []
# The dialects that it speaks, the best first, and where. Clients of others are translated to the first that there is a mapping to.
speaks:
  chat: /v1/chat/completions
  # embeddings: { path: /v1/embeddings, drop: [user] }     # parameters that it refuses
# Then in gateway.yaml:
#   upstreams:
#     mine: { provider: ${name}, secret: $${name.toUpperCase().replaceAll('-', '_')}_API_KEY, models: [a-model] }
`
}

export function routeSkeleton(name: string, path: string, dialect: string): string {
  return `# A route for clients. docs/reference/route.md lists every key.
name: ${name}
method: POST
path: ${path}
auth: [bearer]
dialect: ${dialect}
body: json
limits: { body: 32MiB, connect: 5s, headers: 5m, total: 10m }
# A provider serves it once it says where: \`speaks: { ${dialect}: ${path} }\` in a file of providers/.
`
}

/** The files of a dialect, by name. */
export function dialectSkeleton(name: string): Record<string, string> {
  return {
    'format.yaml': `# The parts of a dialect that its schemas cannot express. docs/reference/format.md lists every key.
title: ${name}
source: https://example.com/docs
response: json
# Where a request names the model.
model: body.model
# Where an answer tells its tokens: members input, output, cached, reasoning.
usage: '{ "input": usage.input_tokens, "output": usage.output_tokens }'
# Errors in the words of another dialect; or say them with \`kinds\`, \`body\` and \`read\`.
error: chat
# stream:                      # where it streams; then write event.yaml, too
#   flag: body.stream
#   framing: sse
#   sentinel: '[DONE]'        # what proves the end
#   watch: {}                  # where events tell of usage and failures
`,
    'request.yaml': `title: A request of ${name}
source: https://example.com/docs
type: object
required: [model, input]
properties:
  model: { type: string, minLength: 1 }
  input: { type: string, minLength: 1 }
`,
    'response.yaml': `title: An answer of ${name}
source: https://example.com/docs
type: object
required: [output]
properties:
  output: { type: string }
  usage:
    type: object
    properties:
      input_tokens: { type: integer, minimum: 0 }
      output_tokens: { type: integer, minimum: 0 }
`,
  }
}
