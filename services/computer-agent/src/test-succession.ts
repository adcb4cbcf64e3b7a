// Agents of one host, one after another, for tests in which they are killed: each test has a data folder of its own, in
// which one agent after the other finds what those before it left.
import { rm } from 'node:fs/promises';
import { FakeClock } from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import {
  type AgentProcess,
  type AgentProcessOptions,
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  startAgentProcess,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';

export interface Succession {
  /** One for all tests of the file. */
  readonly installation: TestInstallation;
  /** Of the agents of this test. */
  readonly dataFolder: string;
  /** An agent in a process of its own, to be killed. */
  startDoomed(options: Omit<AgentProcessOptions, 'dataFolder'>): Promise<AgentProcess>;
  /** The next agent, whose wall clock begins at `now`; it is closed after the test, with all computers. */
  startSuccessor(now: number, env?: Readonly<Record<string, string>>): Promise<TestAgent>;
}

/** To be called once in a test file: starts what its tests need before them, and stops it after them. */
export function agentsInSuccession(): Succession {
  let installation: TestInstallation;
  let dataFolder: string;
  let successor: TestAgent | undefined;
  beforeAll(async () => {
    installation = await openTestInstallation();
  }, SETUP_TIMEOUT_MS);
  afterAll(() => installation?.stop());
  beforeEach(async () => {
    dataFolder = await installation.newDataFolder();
  });
  afterEach(async () => {
    await successor?.close();
    successor = undefined;
    await rm(dataFolder, { recursive: true, force: true });
  });
  return {
    get installation() {
      return installation;
    },
    get dataFolder() {
      return dataFolder;
    },
    startDoomed: (options) => startAgentProcess(installation, { dataFolder, ...options }),
    async startSuccessor(now, env = {}) {
      successor = await openTestAgent(installation, { dataFolder, clock: new FakeClock(now), env });
      return successor;
    },
  };
}
