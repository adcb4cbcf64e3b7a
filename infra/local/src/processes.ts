/** The supervised processes of a stack, by role. Their logs and pid files are in the data folder. */
import { join } from 'node:path';
import { createPidFiles } from './pid-files.ts';
import { openProcessLog } from './process-log.ts';
import type { Progress } from './progress.ts';
import { type ProcessSpec, type Supervised, supervise } from './supervisor.ts';

/** In the order in which they stop. */
const ROLES = ['entry', 'worker', 'server'] as const;
type Role = (typeof ROLES)[number];

export interface Processes {
  /** Starts a process. Throws once `stop` was called. */
  run(role: Role, spec: ProcessSpec): Supervised;
  /** Aborted by `stop`. */
  readonly stopping: AbortSignal;
  /** Ends what an earlier launcher left running on this folder. */
  endLeftovers(): Promise<void>;
  /** Stops all processes, one role after the other. */
  stop(): Promise<void>;
  /** Kills all processes at once, so that a running `stop` ends quickly. */
  kill(): void;
}

export function createProcesses(dataFolder: string, progress: Progress): Processes {
  const pidFiles = createPidFiles(join(dataFolder, 'run'));
  const running: Record<Role, Supervised[]> = { entry: [], worker: [], server: [] };
  const stopping = new AbortController();
  return {
    stopping: stopping.signal,
    run(role, spec) {
      if (stopping.signal.aborted) throw new Error('The stack is being stopped');
      const note = (text: string) => progress.note(spec.name, text);
      const log = openProcessLog(join(dataFolder, 'logs', `${spec.name}.log`), note);
      const supervised = supervise(spec, { log, pidFiles, note });
      running[role].push(supervised);
      return supervised;
    },
    async endLeftovers() {
      const ended = await pidFiles.endLeftovers(['nats', 'mongo']);
      if (ended.length > 0)
        progress.note('left over', `stopped processes of an earlier start: ${ended.join(', ')}`);
    },
    async stop() {
      stopping.abort();
      for (const role of ROLES) await Promise.all(running[role].map((one) => one.stop()));
    },
    kill() {
      for (const one of Object.values(running).flat()) one.kill();
    },
  };
}
