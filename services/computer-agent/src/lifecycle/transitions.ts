// The transitions of a computer that a caller asks for. They run one at a time under its lock. Their steps are ordered
// so that a crash between any two neither loses nor doubles a minute, and never leaves a stopped computer recorded as
// running: `begin-run.ts`, `end-run.ts`. After a crash, a begun transition is undone and an ending is finished:
// `reconcile.ts`.
import {
  type ComputerRecord,
  mayBegin,
  RUN_EVERY_MS,
  ServiceError,
  type StopReason,
} from '@switchyard/contracts';
import { beginRun } from './begin-run.ts';
import { type Computer, notFound } from './computer.ts';
import { CreationReport, type OnProgress } from './creation-report.ts';
import { endRun, finishTransition, removeComputer, undoCreation } from './end-run.ts';
import { exclusively } from './exclusively.ts';
import { changedEvent } from './lifecycle-event.ts';
import { writeActivity } from './run-watch.ts';

export interface CreateOptions {
  /** Whether a spending limit applies to the key; undefined: not known. */
  readonly limited: boolean | undefined;
  /** Aborting it ends the wait for an image. */
  readonly signal: AbortSignal;
  /** Receives progress: first when the registry is queried, or when the image is present. */
  readonly onProgress?: OnProgress;
}

/**
 * Starts a computer for the first time, after control has made its record. A repeated call returns the computer
 * unchanged.
 * @throws ServiceError `no_capacity`, `image_unavailable`, `computer_failed`, `insufficient_funds`,
 * `budget_exceeded`; `computer_not_found` if it was deleted meanwhile. Nothing is left on this host then, or the
 * reconciler removes it.
 */
export function createComputer(
  computer: Computer,
  { limited, signal, onProgress }: CreateOptions,
): Promise<ComputerRecord> {
  const { host, logger } = computer.deps;
  return begin(computer, async (ended) => {
    if (computer.record.state === 'running') return computer.record;
    if (computer.record.state !== 'creating') throw notFound();
    try {
      await host.workspaces.create(computer.id, computer.record.disk_gb);
      await beginRun(computer, {
        first: true,
        limited,
        signal: AbortSignal.any([signal, ended]),
        report: new CreationReport(computer, onProgress),
      });
    } catch (error) {
      // If the clean-up fails, the reconciler takes the creation back.
      await undoCreation(computer).catch((failure: unknown) =>
        logger.warn({ err: failure, computer: computer.id }, 'a failed creation is not cleaned up yet'),
      );
      throw error;
    }
    return published(computer, 'created');
  });
}

/**
 * Starts a stopped computer; returns a running one unchanged.
 * @throws as `createComputer`; `rate_limited`; `computer_not_running` if it was stopped while its image was pulled
 */
export async function startComputer(
  computer: Computer,
  limited: boolean | undefined,
): Promise<ComputerRecord> {
  computer.requireCreated();
  return begin(computer, async (ended) => {
    await finishTransition(computer);
    const { state, error } = computer.record;
    if (state === 'running') return computer.record;
    if (state === 'error') throw new ServiceError('computer_failed', error ?? 'broken');
    if (state !== 'stopped') throw notFound();
    if (!(await computer.deps.host.workspaces.exists(computer.id))) {
      const error = 'The computer’s files are lost. Delete it.';
      await computer.write({ state: 'error', error });
      throw new ServiceError('computer_failed', error);
    }
    requireMayBegin(computer);
    await beginRun(computer, { first: false, limited, signal: ended });
    return published(computer, 'started');
  });
}

/** Control refuses the minutes of a run that begins too soon, so such a run would be free. */
function requireMayBegin({ record, now }: Computer): void {
  if (mayBegin(record.runs + 1, now.getTime() - Date.parse(record.created_at))) return;
  const message = 'The computer was started too often. Retry in 10 s.';
  throw new ServiceError('rate_limited', message, { retryAfterS: RUN_EVERY_MS / 1_000 });
}

/** Stops a running computer and keeps its files; returns a stopped one unchanged. Cancels the pull of a start. */
export async function stopComputer(computer: Computer, reason: StopReason): Promise<ComputerRecord> {
  computer.requireCreated();
  endBeginnings(
    computer,
    new ServiceError('computer_not_running', 'the computer was stopped while it was being started'),
  );
  return exclusively(computer, async () => {
    await finishTransition(computer);
    if (computer.record.state === 'running') await endRun(computer, computer.endNow(reason));
    if (computer.record.state === 'creating' || computer.record.state === 'deleting') throw notFound();
    return computer.record;
  });
}

/** Removes the computer and its files. Cancels the pull of a creation or start. */
export function deleteComputer(computer: Computer): Promise<void> {
  endBeginnings(computer, new ServiceError('computer_not_found', 'the computer was deleted before it ran'));
  return exclusively(computer, async () => {
    if (computer.record.state === 'creating') throw notFound();
    await removeComputer(computer);
  });
}

/** Disconnects from the computer and leaves it running for the next agent. */
export async function releaseComputer(computer: Computer): Promise<void> {
  endBeginnings(computer, hostShutDown());
  await computer.lock.run(async () => {
    if (computer.run && computer.record.state === 'running') await writeActivity(computer).catch(() => {});
    computer.forgetRun({ release: true });
  });
}

/**
 * Stops the computer because the host shuts down, also one whose creation or start is in progress, and one whose
 * earlier stop or deletion failed midway: the reconciler, which would finish it, has ended.
 */
export async function shutDownComputer(computer: Computer): Promise<void> {
  endBeginnings(computer, hostShutDown());
  await computer.settled();
  if (computer.isGone) return;
  await exclusively(computer, async () => {
    await finishTransition(computer);
    if (computer.record.state === 'running') await endRun(computer, computer.endNow('host_lost'));
  });
}

function hostShutDown(): ServiceError {
  return new ServiceError('service_unavailable', 'the computer’s host is shut down');
}

/** @param work ends its wait for the image when the signal is aborted */
async function begin(
  computer: Computer,
  work: (ended: AbortSignal) => Promise<ComputerRecord>,
): Promise<ComputerRecord> {
  const beginning = new AbortController();
  computer.beginnings.add(beginning);
  try {
    return await exclusively(computer, () => work(beginning.signal));
  } finally {
    computer.beginnings.delete(beginning);
  }
}

function endBeginnings({ beginnings }: Computer, reason: ServiceError): void {
  for (const beginning of beginnings) beginning.abort(reason);
}

async function published(computer: Computer, change: 'created' | 'started'): Promise<ComputerRecord> {
  await computer.deps.events.publish(changedEvent(computer.record, change, computer.now));
  return computer.record;
}
