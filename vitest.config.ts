/** The tests: those beside their sources (`parts`), and those of the whole stack in `tests` (`whole`). */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const SECOND_MS = 1_000;
/** Files at once. Each may run a nats-server, a database or a whole stack; most of their time they wait. */
const WORKERS_MAX = 4;

export default defineConfig({
  test: {
    env: {
      // Its clean-up container needs an image from a registry; what a test starts it stops itself.
      TESTCONTAINERS_RYUK_DISABLED: 'true',
      // Services and agents that tests start by the hundred need half the processor time to load.
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/switchyard'),
    },
    // What is waited for comes when it comes on a busy machine; this bounds what never does.
    expect: { poll: { timeout: 60 * SECOND_MS } },
    maxWorkers: WORKERS_MAX,
    // A worker loads each module once for all its files: half of the processor time of small ones.
    isolate: false,
    exclude: ['**/node_modules/**'],
    testTimeout: 300 * SECOND_MS,
    hookTimeout: 300 * SECOND_MS,
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['{benchmarks,clients,libs,services,infra,examples}/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: ['tests/**/*.test.ts'],
          setupFiles: ['tests/answers-as-described.setup.ts'],
        },
      },
    ],
  },
});
