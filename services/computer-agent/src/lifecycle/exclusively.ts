// Runs one transition of a computer at a time, and handles a record that control has removed meanwhile.
import { type RecordEntry, RecordTaken } from '../store/computer-records.ts';
import { type Computer, notFound } from './computer.ts';
import { finishDeletion, undoCreation } from './end-run.ts';

/**
 * Runs `work` under the lock. If control removed the record, clears the computer from this host and reports it as not
 * found.
 */
export function exclusively<T>(computer: Computer, work: () => Promise<T>): Promise<T> {
  return computer.lock.run(async () => {
    if (computer.isGone) throw notFound();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RecordTaken)) throw error;
      await clearAway(computer, error.entry);
      throw notFound();
    }
  });
}

/**
 * Under the lock.
 * @param entry the record as control has marked it; null: it was deleted, by control after a failed creation, or from
 * outside
 */
export async function clearAway(computer: Computer, entry: RecordEntry | null): Promise<void> {
  if (entry) {
    computer.replace(entry);
    return finishDeletion(computer);
  }
  const { id, deps, record } = computer;
  if (record.state === 'creating') {
    await computer.removeContainer();
    return undoCreation(computer);
  }
  // Keep the files, because their owner did not ask for their deletion.
  deps.logger.error({ computer: id }, 'the record of a computer is gone; its container is removed');
  await computer.removeContainer();
  computer.forgetRun({ release: false });
  computer.leave();
}
