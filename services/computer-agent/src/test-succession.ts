// Successive agents of one host, for tests that kill them. Each test has a data folder, in which each agent finds
// what the earlier ones left.
import { rm } from 'node:fs/promises';
import { FakeClock } from '@switchyard/testing';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import {
  openTestAgent,
  openTestInstallation,
  SETUP_TIMEOUT_MS,
  type TestAgent,
  type TestInstallation,
} from './test-agent.ts';
import { type AgentProcess, type AgentProcessOptions, startAgentProcess } from './test-agent-process.ts';

interface Succession {
  /** Shared by all tests of the file. */
  readonly installation: TestInstallation;
  /** Data folder of this test's agents. */
  readonly dataFolder: string;
  /** Starts an agent in a separate process, to be killed. */
  startDoomed(options: Omit<AgentProcessOptions, 'dataFolder'>): Promise<AgentProcess>;
  /** Starts the next agent, with its wall clock at `now`. It is closed after the test, with all computers. */
  startSuccessor(now: number, env?: Readonly<Record<string, string>>): Promise<TestAgent>;
}

/** Call once in a test file: starts what its tests need before them, and stops it after them. */
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
