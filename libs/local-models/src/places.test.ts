import { describe, expect, it } from 'vitest';
import { Places } from './places.ts';

const here = new AbortController().signal;

describe('places', () => {
  it('hold back what is one too many, in order, and go on after a failure', async () => {
    const places = new Places(2);
    const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    const started: number[] = [];
    const all = gates.map(({ promise }, index) =>
      places.run(here, async () => {
        started.push(index);
        await promise;
      }),
    );
    await Promise.resolve();
    expect(started).toEqual([0, 1]);
    gates[1]?.reject(new Error('failed'));
    await expect(all[1]).rejects.toThrow('failed');
    await Promise.resolve();
    expect(started).toEqual([0, 1, 2]);
    for (const { resolve } of gates) resolve();
    await Promise.all([all[0], all[2], all[3]]);
    expect(started).toEqual([0, 1, 2, 3]);
  });

  it('are not taken by callers who left while they waited', async () => {
    const places = new Places(1);
    const first = Promise.withResolvers<void>();
    const gone = new AbortController();
    const running = places.run(here, () => first.promise);
    const waiting = places.run(gone.signal, async () => 'never');
    const after = places.run(here, async () => 'ran');
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    first.resolve();
    await running;
    expect(await after).toBe('ran');
  });
});
