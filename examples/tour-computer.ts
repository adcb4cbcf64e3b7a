// The tour's computer: creates, uses, stops and deletes it.
import { type Computer, dataOf, type Switchyard, SwitchyardError } from '@switchyard/client';
import { dollars } from './client.ts';
import { bold, dim, heading, line, waitingLine } from './terminal.ts';

/** How long the tour waits for a computer: the first start builds its image. */
const COMPUTER_WAIT_MS_MAX = 45 * 60_000;
const COMPUTER_RETRY_MS = 5_000;

/** Returns the cost of its minutes in dollars; 0 where this installation has no computers. */
export async function useComputer(sy: Switchyard): Promise<number> {
  heading('A computer', 'created, used, stopped, deleted');
  if (!(await hasComputers(sy))) return 0;
  await using computer = await createComputer(sy);
  const { name } = computer;
  line(`${name} is ${computer.info.status}`);
  const command = "python3 -c 'print(6*7)'";
  const { stdout, exitCode, durationMs } = await computer.exec(command);
  line(`$ ${command}`);
  line(`${bold(stdout.trim())} ${dim(`(exit ${exitCode}, ${durationMs} ms)`)}`);
  if (stdout !== '42\n') throw new Error(`the computer printed ${JSON.stringify(stdout)}, not 42`);
  const { status, minutes, cost } = await computer.stop();
  line(`${name} is ${status}; ${minutes} minute(s) ${dim(dollars(cost))}`);
  return cost;
}

/** Whether this installation has computers. */
async function hasComputers({ api }: Switchyard): Promise<boolean> {
  try {
    await dataOf(api.GET('/v1/computers/options'));
    return true;
  } catch (error) {
    if (!(error instanceof SwitchyardError && error.code === 'no_capacity')) throw error;
    line(`not available: ${error.message}`);
    return false;
  }
}

/** Waits and shows the progress while the hosts are full or the image is still being built. */
async function createComputer({ computers }: Switchyard): Promise<Computer> {
  const until = Date.now() + COMPUTER_WAIT_MS_MAX;
  const show = waitingLine();
  for (;;) {
    try {
      const made = await computers.create({ name: 'tour' });
      show('');
      return made;
    } catch (error) {
      if (!(error instanceof SwitchyardError && error.code === 'no_capacity') || Date.now() > until)
        throw error;
      show(error.message);
      await new Promise((resolve) => setTimeout(resolve, COMPUTER_RETRY_MS));
    }
  }
}
