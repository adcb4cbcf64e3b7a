/** The tests: those beside their sources, then those of the whole in `tests`, one file at a time. */
import { defineConfig } from 'vitest/config';

const SECOND_MS = 1_000;
/** Each file may run a nats-server and a database of its own. */
const WORKERS_MAX = 2;

export default defineConfig({
  test: {
    env: {
      // Its clean-up container needs an image from a registry; what a test starts it stops itself.
      TESTCONTAINERS_RYUK_DISABLED: 'true',
    },
    // What is waited for comes when it comes on a busy machine; this bounds what never does.
    expect: { poll: { timeout: 60 * SECOND_MS } },
    maxWorkers: WORKERS_MAX,
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['{libs,services,infra,examples}/**/*.test.ts'],
          exclude: ['**/node_modules/**'],
          testTimeout: 120 * SECOND_MS,
          hookTimeout: 120 * SECOND_MS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: ['tests/**/*.test.ts'],
          setupFiles: ['tests/answers-as-described.setup.ts'],
          exclude: ['**/node_modules/**'],
          // The launcher and all services, several times over: with a second one beside them nothing is in time.
          fileParallelism: false,
          testTimeout: 120 * SECOND_MS,
          hookTimeout: 300 * SECOND_MS,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
