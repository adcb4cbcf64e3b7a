// The tour's computer: creates, uses, stops and deletes it.
import { ApiError, type Call, dollars } from './client.ts';
import { bold, dim, heading, line, waitingLine } from './terminal.ts';

/** How long the tour waits for a computer: the first start builds its image. */
const COMPUTER_WAIT_MS_MAX = 45 * 60_000;
const COMPUTER_RETRY_MS = 5_000;

interface Computer {
  id: string;
  name: string;
  status: string;
  minutes: number;
  cost: number;
}

/** Returns the cost of its minutes in dollars; 0 where this installation has no computers. */
export async function useComputer(call: Call): Promise<number> {
  heading('A computer', 'created, used, stopped, deleted');
  if (!(await hasComputers(call))) return 0;
  const made = await createComputer(call);
  const path = `/v1/computers/${made.id}`;
  try {
    line(`${made.name} is ${made.status}`);
    const command = "python3 -c 'print(6*7)'";
    const result = await call<{ stdout: string; exit_code: number; duration_ms: number }>(
      'POST',
      `${path}/exec`,
      { command },
    );
    line(`$ ${command}`);
    line(`${bold(result.stdout.trim())} ${dim(`(exit ${result.exit_code}, ${result.duration_ms} ms)`)}`);
    if (result.stdout !== '42\n')
      throw new Error(`the computer printed ${JSON.stringify(result.stdout)}, not 42`);
    await call('POST', `${path}/stop`);
    const stopped = await call<Computer>('GET', path);
    line(`${stopped.name} is ${stopped.status}; ${stopped.minutes} minute(s) ${dim(dollars(stopped.cost))}`);
    return stopped.cost;
  } finally {
    await call('DELETE', path);
  }
}

/** Whether this installation has computers. */
async function hasComputers(call: Call): Promise<boolean> {
  try {
    await call('GET', '/v1/computers/options');
    return true;
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'no_capacity')) throw error;
    line(`not available: ${error.message}`);
    return false;
  }
}

/** Waits and shows the progress while the hosts are full or the image is still being built. */
async function createComputer(call: Call): Promise<Computer> {
  const until = Date.now() + COMPUTER_WAIT_MS_MAX;
  const show = waitingLine();
  for (;;) {
    try {
      const made = await call<Computer>('POST', '/v1/computers', { name: 'tour' });
      show('');
      return made;
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'no_capacity') || Date.now() > until) throw error;
      show(error.message);
      await new Promise((resolve) => setTimeout(resolve, COMPUTER_RETRY_MS));
    }
  }
}
