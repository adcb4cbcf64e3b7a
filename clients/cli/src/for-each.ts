// Commands that take several ids.
import { errorText } from './print.ts';

const FAILED = 1;

/** Changes each one. One that fails is named, and keeps no other from being stopped, deleted or revoked. */
export async function forEach(ids: string[], change: (id: string) => Promise<void>): Promise<void> {
  for (const id of ids)
    try {
      await change(id);
    } catch (error) {
      process.stderr.write(`${id}: ${errorText(error)}\n`);
      process.exitCode = FAILED;
    }
}
