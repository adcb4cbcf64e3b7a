/** A service of the smallest kind: says that it is ready, and writes down that it was asked to stop. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

const { SWITCHYARD_DATA, SWITCHYARD_INSTANCE } = process.env;
const alive = setInterval(() => {}, 60_000);

process.send?.({ type: 'ready' });
process.on('SIGTERM', () => {
  appendFileSync(join(SWITCHYARD_DATA!, 'stops'), `${SWITCHYARD_INSTANCE}\n`);
  clearInterval(alive);
  process.exit(0);
});
