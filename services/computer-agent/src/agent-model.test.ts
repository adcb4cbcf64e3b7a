// Compares a host under random calls and faults with a model of the state machine after each step: record, view,
// events, minutes and containers must match the model.
//
//   SEED=… REPLAY=… RUNS=… COMMANDS=… npx vitest run services/computer-agent/src/agent-model.test.ts
//
// A failure prints its seed and path, which are SEED and REPLAY of the run that repeats it.
import Docker from 'dockerode';
import fc from 'fast-check';
import { afterAll, beforeAll, test } from 'vitest';
import { HostModel } from './__fixtures__/computer-model.ts';
import { anyCommand, endAll } from './__fixtures__/model-commands.ts';
import { ModelHost } from './__fixtures__/model-host.ts';
import { openTestInstallation, SETUP_TIMEOUT_MS, type TestInstallation } from './test-agent.ts';

const MINUTE_MS = 60_000;
const NOON = Date.parse('2026-11-21T12:00:00Z');
/** Tens of seconds in total, on two cores. */
const RUNS = Number(process.env.RUNS ?? 2);
const COMMANDS = Number(process.env.COMMANDS ?? 25);
/** Maximum duration of a command on a busy machine. */
const COMMAND_TIMEOUT_MS = 10_000;
const LIMITS = { idleStopMs: 2 * MINUTE_MS, maxLifetimeMs: 7 * MINUTE_MS };
const SETTINGS = {
  SWITCHYARD_IDLE_STOP_MINUTES: String(LIMITS.idleStopMs / MINUTE_MS),
  SWITCHYARD_MAX_LIFETIME_MINUTES: String(LIMITS.maxLifetimeMs / MINUTE_MS),
};

let installation: TestInstallation;

beforeAll(async () => {
  installation = await openTestInstallation();
}, SETUP_TIMEOUT_MS);
afterAll(() => installation?.stop());

test(
  'after any calls and faults, record, events, minutes and containers match the model',
  async () => {
    const commands = fc.array(anyCommand, { minLength: COMMANDS, maxLength: COMMANDS });
    const property = fc.asyncProperty(commands, async (chosen) => {
      const model = new HostModel(NOON, LIMITS);
      const host = await ModelHost.open({ installation, docker: new Docker(), model, env: SETTINGS });
      try {
        await fc.asyncModelRun(() => ({ model, real: host }), [...chosen, endAll]);
        for (const computer of model.computers) await host.checkEvents(computer); // and no further one came
      } catch (error) {
        throw new Error(`${host.history.join('\n')}\n${error}`, { cause: error });
      } finally {
        await host.close();
      }
    });
    const { SEED, REPLAY } = process.env;
    await fc.assert(property, {
      numRuns: RUNS,
      // A step of shrinking is a run of its own: it is asked for by hand.
      endOnFailure: process.env.SHRINK === undefined,
      ...(SEED === undefined ? {} : { seed: Number(SEED) }),
      ...(REPLAY === undefined ? {} : { path: REPLAY }),
    });
  },
  RUNS * COMMANDS * COMMAND_TIMEOUT_MS,
);
