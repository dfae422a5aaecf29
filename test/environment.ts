// Runs before each test file: workers are shared by files, and what one of them sets in the environment must not reach the
// servers that another one starts.

const shared = globalThis as { environment?: NodeJS.ProcessEnv }
shared.environment ??= { ...process.env }
for (const name of Object.keys(process.env)) if (!Object.hasOwn(shared.environment, name)) delete process.env[name]
Object.assign(process.env, shared.environment)
