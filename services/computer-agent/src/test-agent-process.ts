// An agent for tests in a separate process, to be killed.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { defaultLimits, hostOf, type TestHost, type TestInstallation } from './test-agent.ts';

const AGENT_PROCESS = fileURLToPath(new URL('./__fixtures__/agent-process.ts', import.meta.url));

/** Orders of a test to such an agent. */
export type AgentOrder =
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'fall silent'; readonly ms: number }
  | { readonly do: 'stop' };

export interface AgentProcess {
  readonly process: ChildProcess;
  readonly hostId: string;
  readonly host: TestHost;
  pass(ms: number): Promise<void>;
  /** Advances the clock without heartbeats. */
  fallSilent(ms: number): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** As with SIGTERM: its computers keep running. */
  stop(): Promise<void>;
}

export interface AgentProcessOptions {
  readonly dataFolder: string;
  /** Wall-clock time at its start. */
  readonly now: number;
  /** The agent kills itself when JetStream has stored this event, before it gets the confirmation. */
  readonly killAfterEvent?: string | undefined;
  /** The agent kills itself after this step, without learning its result: see the fixture. */
  readonly killAfterStep?: string | undefined;
  /** Settings, and `DOCKER_HOST` for another engine than the machine's. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts an agent in a separate process, to be killed. */
export async function startAgentProcess(
  installation: TestInstallation,
  { dataFolder, now, killAfterEvent = '', killAfterStep = '', env = {} }: AgentProcessOptions,
): Promise<AgentProcess> {
  const points = [killAfterEvent, killAfterStep];
  const child = fork(AGENT_PROCESS, [installation.natsUrl, dataFolder, String(now), ...points], {
    env: { ...process.env, ...env },
  });
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`the agent ended at its start, with code ${code}`);
  });
  died.catch(() => {}); // later, its death is expected by the test
  const [{ ready: hostId }] = (await Promise.race([once(child, 'message'), died])) as [{ ready: string }];
  const order = async (order: AgentOrder) => {
    child.send(order);
    await once(child, 'message');
  };
  return {
    process: child,
    hostId,
    host: hostOf(installation, hostId, defaultLimits(), () => now),
    pass: (ms) => order({ do: 'pass', ms }),
    fallSilent: (ms) => order({ do: 'fall silent', ms }),
    async kill() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    async stop() {
      const gone = once(child, 'exit');
      child.send({ do: 'stop' } satisfies AgentOrder);
      await gone;
    },
  };
}
