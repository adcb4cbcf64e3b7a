// One transition of a computer at a time, and what becomes of one that control has taken away meanwhile.
import { RecordTaken } from '../store/computer-records.ts';
import { finishDeletion } from './ending.ts';
import { type HeldComputer, notFound } from './held-computer.ts';

/** Under the lock. A computer that control took away meanwhile is cleared from this host, and then not found. */
export function exclusively<T>(computer: HeldComputer, work: () => Promise<T>): Promise<T> {
  return computer.lock.run(async () => {
    if (computer.isGone) throw notFound();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RecordTaken)) throw error;
      await clearAway(computer, error);
      throw notFound();
    }
  });
}

async function clearAway(computer: HeldComputer, { entry }: RecordTaken): Promise<void> {
  if (entry) {
    computer.replace(entry);
    return finishDeletion(computer);
  }
  // Deleted behind our back: files stay, as nothing says that their owner wanted them gone.
  const { id, on } = computer;
  on.logger.error({ computer: id }, 'the record of a computer is gone; its container is removed');
  await computer.removeContainer();
  computer.forgetRun({ release: false });
  computer.leave();
}
