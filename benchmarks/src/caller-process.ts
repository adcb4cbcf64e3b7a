// Calls at a fixed rate from a process of its own, so that its figures do not include the wait of a flood in the
// process that floods. A child of `callsFromProcess`: gets one message with the calls to make, answers with the figures.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Target } from './load.ts';
import { type Arrivals, callAtRate } from './open-load.ts';

interface Calls {
  readonly target: Target;
  readonly perSecond: number;
  readonly seconds: number;
}

if (process.send)
  process.once('message', async ({ target, ...rate }: Calls) => {
    process.send?.(await callAtRate(target, rate));
    process.disconnect();
  });

export async function callsFromProcess(calls: Calls): Promise<Arrivals> {
  const child = fork(import.meta.filename);
  child.send(calls);
  const [arrivals] = (await Promise.race([
    once(child, 'message'),
    once(child, 'disconnect').then(() => Promise.reject(new Error('a caller ended without figures'))),
  ])) as [Arrivals];
  return arrivals;
}
