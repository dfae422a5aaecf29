import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // For machines that are busy with something else: what is asserted about time stands in the tests themselves.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    // Sockets and processes of one file must not disturb another's figures: two files at a time on two cores.
    maxWorkers: 2,
    pool: 'forks',
    // What is compiled for a test is not kept among what a person uses. Not below node_modules: vitest leaves what lies there to
    // Node, and the engine that it imports would be another copy than the one under test.
    env: { XDG_CACHE_HOME: join(import.meta.dirname, '.sluice') },
  },
})
