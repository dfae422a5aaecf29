import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Sockets and processes of one file must not disturb another's figures: two files at a time on two cores.
    maxWorkers: 2,
    pool: 'forks',
  },
})
