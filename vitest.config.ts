import { defineConfig } from 'vitest/config';

// Two projects: `unit` needs nothing but Node, `server` shares one Temporal dev server, started by its global set-up.
export default defineConfig({
  test: {
    pool: 'forks',
    // Tests on the server mostly wait for it, or for the pause that it makes between two executions of a run.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/server/**'],
          testTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'server',
          include: ['test/server/**/*.test.ts'],
          globalSetup: ['test/global-setup.ts'],
          setupFiles: ['test/server/quiet-runtime.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
