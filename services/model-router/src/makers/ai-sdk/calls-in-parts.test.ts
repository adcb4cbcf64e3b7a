import { expect, it } from 'vitest';
import { callEach, inParts, sumOfAll } from './calls-in-parts.ts';

const never = new AbortController().signal;

it('parts hold every item once, in order, and none exceeds the size', () => {
  expect(inParts([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(inParts([], 2)).toEqual([]);
});

it('results follow the order of the parts, whichever call ends first', async () => {
  const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const results = callEach(gates, never, async ({ promise }, index) => {
    await promise;
    return index;
  });
  for (const gate of gates.toReversed()) gate.resolve();
  expect(await results).toEqual([0, 1, 2]);
});

it('at most four calls run at the same time', async () => {
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const results = callEach([1, 2, 3, 4, 5, 6], never, async () => {
    begun += 1;
    await gate.promise;
  });
  expect(begun).toBe(4);
  gate.resolve();
  await results;
  expect(begun).toBe(6);
});

it('the first failure cancels running calls and starts no other', async () => {
  const ended: number[] = [];
  let begun = 0;
  const failing = callEach([0, 1, 2, 3, 4, 5], never, (_part, index, signal) => {
    begun += 1;
    if (index === 2) return Promise.reject(new Error('the third'));
    return new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        ended.push(index);
        reject(signal.reason);
      });
    });
  });
  await expect(failing).rejects.toThrow('the third');
  expect(ended.toSorted()).toEqual([0, 1, 3]);
  expect(begun).toBe(4);
});

it('an outside abort cancels running calls', async () => {
  const caller = new AbortController();
  const calling = callEach([0, 1], caller.signal, (_part, _index, signal) => {
    return new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  });
  caller.abort(new Error('gone'));
  await expect(calling).rejects.toThrow('gone');
});

it('a sum exists only if every part was counted', () => {
  expect(sumOfAll([1, 2, 3])).toBe(6);
  expect(sumOfAll([1, undefined, 3])).toBeUndefined();
});
