// The settings of coding agents for a gateway. Each fact is from a page in `sources`.

export interface Agent {
  title: string
  /** The pages that document it. */
  sources: readonly string[]
  /** The suffix of the gateway's address. */
  path: string
  /** Environment variables; `{url}`, `{model}` and `{key}` are filled in. */
  env: Readonly<Record<string, string>>
  /** A settings file of the agent, and its content; `{limits}` in it is `limits` if the sizes of the model are known, else nothing. */
  file?: { path: string; text: string; limits?: string }
  /** Where `--write` puts the variables except the key: a member of a JSON file, or lines of an env file. */
  settings?: { path: string; member?: string }
  /** The command that starts the agent then. */
  run: string
  /** A further remark. */
  note?: string
}

/** The placeholder for the key, which no command prints. */
export const KEY_PLACE = '<your key>'

export const AGENTS: Readonly<Record<string, Agent>> = {
  'claude-code': {
    title: 'Claude Code',
    sources: [
      'https://docs.anthropic.com/zh-CN/docs/claude-code/llm-gateway',
      'https://docs.litellm.ai/docs/proxy/client_setup/claude_code',
    ],
    path: '',
    // The agent asks for other models of its own, such as a smaller one for sub-agents that explore, which the gateway need not have.
    env: {
      ANTHROPIC_BASE_URL: '{url}',
      ANTHROPIC_AUTH_TOKEN: '{key}',
      ANTHROPIC_MODEL: '{model}',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: '{model}',
      ANTHROPIC_DEFAULT_SONNET_MODEL: '{model}',
      ANTHROPIC_DEFAULT_OPUS_MODEL: '{model}',
      ANTHROPIC_DEFAULT_FABLE_MODEL: '{model}',
    },
    // https://code.claude.com/docs/en/env-vars: variables of each session are under `env`.
    settings: { path: '~/.claude/settings.json', member: 'env' },
    run: 'claude',
    note: 'Unset ANTHROPIC_API_KEY, which the agent would send with the token.',
  },
  codex: {
    title: 'Codex',
    sources: [
      'https://developers.openai.com/codex/config-sample',
      'https://dev.to/aihubmix/codex-configtoml-a-working-setup-and-what-each-error-means-2ghj',
    ],
    path: '/v1',
    env: { SLUICE_KEY: '{key}' },
    file: {
      path: '~/.codex/config.toml',
      text: `model = "{model}"
model_provider = "sluice"

[model_providers.sluice]
name = "Sluice"
base_url = "{url}"
env_key = "SLUICE_KEY"
wire_api = "responses"`,
    },
    run: 'codex',
  },
  'gemini-cli': {
    title: 'Gemini CLI',
    sources: ['https://github.com/google-gemini/gemini-cli/pull/25357', 'https://www.developersdigest.tech/reference/gemini-cli/env-vars'],
    path: '',
    env: { GOOGLE_GEMINI_BASE_URL: '{url}', GEMINI_API_KEY: '{key}', GEMINI_MODEL: '{model}' },
    // Without it the agent refuses to start with another address (validateAuthMethod of @google/gemini-cli 0.61.0).
    file: {
      path: '.gemini/settings.json',
      text: `{
  "security": { "auth": { "selectedType": "gemini-api-key" } }
}`,
    },
    // https://www.mintlify.com/google-gemini/gemini-cli/reference/environment-variables: an env file for this agent alone.
    settings: { path: '.gemini/.env' },
    run: 'gemini',
    note: 'The address must begin with https://, unless it is one of this machine. The agent reads .gemini/ only in a folder that it trusts: with -p, set GEMINI_CLI_TRUST_WORKSPACE=true.',
  },
  opencode: {
    title: 'opencode',
    sources: ['https://github.com/anomalyco/opencode/issues/6231', 'https://juejin.cn/post/7618238003828736046'],
    path: '/v1',
    env: { SLUICE_KEY: '{key}' },
    file: {
      path: 'opencode.json',
      text: `{
  "$schema": "https://opencode.ai/config.json",
  "model": "sluice/{model}",
  "provider": {
    "sluice": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "Sluice",
      "options": { "baseURL": "{url}", "apiKey": "{env:SLUICE_KEY}" },
      "models": { "{model}": {{limits}} }
    }
  }
}`,
      // A limit has both (anomalyco/opencode, packages/opencode/src/config/provider.ts); without it nothing is compacted (session/overflow.ts).
      limits: ' "limit": { "context": {context}, "output": {output} } ',
    },
    run: 'opencode',
  },
}
