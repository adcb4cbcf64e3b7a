// Work on the current run of a computer: commands, connections, files. Several may be done at a time.
import {
  type ExecRequest,
  type ExecResult,
  invalidParam,
  ServiceError,
  type WriteCondition,
} from '@switchyard/contracts';
import type { InitClient } from '../computer/init-client.ts';
import type { InitStream } from '../computer/init-stream.ts';
import { type OpenEntry, openEntry } from '../computer/open-entry.ts';
import { removeEntry } from '../computer/remove-entry.ts';
import type { Expected, ReceivedFile } from '../computer/staging.ts';
import { absolutePath, type WorkspacePath } from '../computer/workspace-path.ts';
import { type CommandOptions, runCommand } from './command.ts';
import { type Computer, hostRestarting, notFound, notRunning } from './computer.ts';
import type { Run } from './run.ts';
import { noteActivity } from './run-watch.ts';

const REMOVAL_MS_MAX = 600_000;
/** Output of `rm`, whose first line is shown. */
const REMOVAL_OUTPUT_BYTES_MAX = 1_000;
/** Calls that wait for a computer, as during a start, which may take minutes. Each keeps its body in memory. */
const WAITING_MAX = 128;

/**
 * The current run. Does not count as activity.
 * @throws ServiceError `computer_not_found`, `computer_not_running`, `computer_busy`, `rate_limited`
 */
export function currentRun(computer: Computer): Promise<Run> {
  return inTurn(computer, () => computer.requireRun());
}

async function inTurn<T>(computer: Computer, work: () => T): Promise<T> {
  computer.requireCreated();
  if (computer.lock.pending >= WAITING_MAX) {
    const message = 'Too many calls wait for the computer. Retry later.';
    throw new ServiceError('rate_limited', message, { retryAfterS: 1 });
  }
  return computer.lock.run(work);
}

/**
 * Does `work` on the current run, which is busy until it ends.
 * @throws errors of `work`, and as `currentRun`; if the run ended during `work`, `computer_not_running`,
 * `computer_not_found` if the computer was deleted, or `service_unavailable` if this agent left it to the next one
 */
export async function useRun<T>(computer: Computer, work: (run: Run) => Promise<T>): Promise<T> {
  // Still under the lock: the work that waits for it next may be the end of an idle run.
  const { run, ended } = await inTurn(computer, () => {
    const run = computer.requireRun();
    return { run, ended: run.beginCommand() };
  });
  noteActivity(computer);
  try {
    return await work(run);
  } catch (error) {
    throw await reasonOf(computer, run, error);
  } finally {
    ended();
    noteActivity(computer);
  }
}

/**
 * Runs a command. An id known from before a restart of the agent is not run again: its result is awaited.
 * @throws ServiceError `computer_not_running`, `command_timed_out`, `computer_failed`, `invalid_request`, `rate_limited`
 */
export function exec(
  computer: Computer,
  request: ExecRequest,
  options: Omit<CommandOptions, 'outputBytesMax'> & {
    /** Called when the command is about to be sent to the init, which may still refuse it. */
    readonly onStart?: () => void;
  },
): Promise<ExecResult> {
  return useRun(computer, (run) => {
    options.onStart?.();
    return runCommand(run, request, { ...options, outputBytesMax: computer.deps.outputBytesMax });
  });
}

/**
 * Opens a connection to a port or terminal, passes it to `use`, and closes it when `use` returns. When the computer
 * ends, the connection ends.
 * @throws ServiceError `computer_not_running`, `port_unreachable`, `rate_limited`, `computer_failed`; errors of `use`
 */
export function connect(
  computer: Computer,
  open: (init: InitClient) => Promise<InitStream>,
  use: (connection: InitStream) => Promise<void>,
): Promise<void> {
  return useRun(computer, async (run) => {
    const connection = await open(run.container.init);
    try {
      await use(connection);
    } finally {
      connection.destroy();
    }
    // The computer may have ended in the middle of the server's answer: wait for the transition and its reason.
    await computer.settled();
    if (computer.run !== run) throw runEnded(computer, run);
  });
}

/**
 * Puts a file into /workspace, completely, before it resolves. Reads no more of the source when the computer ends: the
 * open file would hold the disk of a deleted computer.
 * @param source its `return` ends a pending `next`
 * @throws ServiceError `computer_not_running`, also when the computer stops during the upload; `invalid_request`
 * for an invalid path; `precondition_failed`; `computer_failed`; errors of the source
 */
export function upload(
  computer: Computer,
  path: WorkspacePath,
  source: AsyncIterableIterator<Uint8Array>,
  expected: Expected,
  condition?: WriteCondition,
): Promise<ReceivedFile> {
  const { workspaces } = computer.deps.host;
  return useRun(computer, async (run) => {
    const staging = await workspaces.staging(computer.id);
    const forget = run.container.onExit(() => void source.return?.());
    const staged = await staging.receive(source, expected).finally(forget);
    try {
      await computer.lock.run(async () => {
        if (run.container.isEnding)
          throw new ServiceError('computer_failed', 'the computer ended while its file was written');
        if (computer.requireRun() !== run) throw notRunning(computer.record);
        await workspaces.place(computer.id, staged.path, path, condition);
      });
    } finally {
      await staged.discard();
    }
    return staged;
  });
}

/**
 * Opens a file or folder of /workspace for `work`. It is closed as soon as the computer ends, so that no open file
 * holds its disk when that is mounted again.
 * @throws ServiceError `computer_not_running`, `path_not_found`, `invalid_request`, `computer_failed`
 */
export function read<T>(
  computer: Computer,
  names: readonly string[],
  work: (entry: OpenEntry) => Promise<T>,
): Promise<T> {
  return useRun(computer, async (run) => {
    const entry = await openEntry(computer.deps.host.workspaces.path(computer.id), names);
    const lost = Promise.withResolvers<never>();
    const forget = run.container.onExit(() =>
      lost.reject(new ServiceError('computer_failed', 'the computer ended while its file was read')),
    );
    try {
      return await Promise.race([work(entry), lost.promise]);
    } finally {
      forget();
      await entry.handle.close();
    }
  });
}

interface Removal {
  readonly recursive: boolean;
  /** Id of the command, should there be one. */
  readonly execId: string;
  readonly signal: AbortSignal;
}

/**
 * Removes a file or folder of /workspace. A folder with content is removed by a command in the computer: its
 * programs decide how much there is, so the removal takes its memory and time.
 * @throws ServiceError `computer_not_running`, `path_not_found`, `invalid_request`, `rate_limited`, `computer_failed`;
 * the reason of `signal`
 */
export function remove(
  computer: Computer,
  names: readonly string[],
  { recursive, execId, signal }: Removal,
): Promise<void> {
  return useRun(computer, async ({ container: { init } }) => {
    const removed = () => removeEntry(computer.deps.host.workspaces.path(computer.id), names);
    if (await removed()) return;
    if (!recursive)
      throw invalidParam('path', `${names.at(-1)} is a folder that is not empty: use recursive=true`);
    const { exitCode, timedOut, output } = await init.exec({
      id: execId,
      command: 'rm -rf -- "$FOLDER"',
      env: { FOLDER: absolutePath(names) },
      timeoutMs: REMOVAL_MS_MAX,
      outputBytesMax: REMOVAL_OUTPUT_BYTES_MAX,
      signal,
    });
    signal.throwIfAborted();
    if (timedOut)
      throw new ServiceError('computer_failed', 'The folder was not removed in 10 minutes. Remove the rest.');
    // A program with root's rights may have unmounted /workspace: then the command sees no folder.
    const gone =
      exitCode === 0 && (await removed().catch((error: ServiceError) => error.code === 'path_not_found'));
    if (gone) return;
    const [line] = output.toString().split('\n');
    throw new ServiceError(
      'computer_failed',
      `Part of the folder was not removed. ${line || `rm ended with ${exitCode}.`}`,
    );
  });
}

/** Work fails before the end of the computer is recorded; the transition has the reason. */
async function reasonOf(computer: Computer, run: Run, error: unknown): Promise<unknown> {
  const lost = error instanceof ServiceError && error.code === 'computer_failed';
  if (!lost) return error;
  if (run.container.isEnding) await run.container.exited;
  await computer.settled();
  return computer.run === run ? error : runEnded(computer, run, error);
}

function runEnded({ record, isGone }: Computer, { container }: Run, cause?: unknown): ServiceError {
  if (container.released) return hostRestarting(cause);
  return isGone || record.state === 'deleting' ? notFound(cause) : notRunning(record, cause);
}
