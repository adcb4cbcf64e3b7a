// A process that was started before it is needed: its program is read and it has its connection to the bus, which is
// most of what a start takes. It begins to serve when the one before it has ended (infra/local/src/standby.ts).
import { once } from 'node:events';

/** In the environment of a process that is to stand by. */
const STAND_BY = 'SWITCHYARD_STAND_BY';

/**
 * Resolves when this process is to serve: at once, unless it was started to stand by. One that stands by ends with the
 * process that started it, as nobody could tell it to serve any more.
 */
export async function untilNeeded(): Promise<void> {
  if (process.env[STAND_BY] === undefined) return;
  delete process.env[STAND_BY];
  const alone = () => process.exit(0);
  if (!process.connected) alone();
  process.once('disconnect', alone);
  await once(process, 'message');
  process.off('disconnect', alone);
}
