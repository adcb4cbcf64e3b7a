// Progress of a pull, computed from the bytes of its layers.
import type { CreationProgress } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import { PullProgress } from './pull-progress.ts';

const MB = 1_000_000;
const layers = [
  { digest: 'a', size: 40 * MB },
  { digest: 'b', size: 60 * MB },
];

/** Progress after each step. */
function after(steps: readonly ((progress: PullProgress) => void)[]): CreationProgress[] {
  const progress = new PullProgress();
  return steps.map((step) => {
    step(progress);
    return progress.now;
  });
}

test('it goes from 0 to 100 %: fetching counts half, unpacking the other half', () => {
  const nothing = { phase: 'pulling', percent: 0, bytes_done: 0, layers_done: 0 };
  const pulling = { ...nothing, bytes_total: 100 * MB, layers_total: 2 };
  const fetched = { ...pulling, phase: 'extracting', bytes_done: 100 * MB };
  expect(
    after([
      () => {},
      (progress) => progress.begin(layers),
      (progress) => progress.fetched('a', 10 * MB),
      (progress) => progress.fetched('a', 40 * MB),
      (progress) => progress.fetched('b', 60 * MB),
      (progress) => progress.unpacked('a', 40 * MB),
      (progress) => progress.unpacked('b', 30 * MB),
      (progress) => progress.loaded(),
    ]),
  ).toEqual([
    { ...nothing, bytes_total: 0, layers_total: 0 },
    pulling,
    { ...pulling, percent: 5, bytes_done: 10 * MB },
    { ...pulling, percent: 20, bytes_done: 40 * MB },
    { ...fetched, percent: 50 },
    { ...fetched, percent: 70, layers_done: 1 },
    { ...fetched, percent: 85, layers_done: 1 },
    { ...fetched, percent: 100, layers_done: 2 },
  ]);
});

test('it never decreases, neither with a layer that is fetched again nor with one larger than announced', () => {
  const told = after([
    (progress) => progress.begin(layers),
    (progress) => progress.fetched('a', 30 * MB),
    (progress) => progress.fetched('a', 0),
    (progress) => progress.fetched('a', 40 * MB),
    (progress) => progress.fetched('unknown', 40 * MB),
    (progress) => progress.fetched('b', 60 * MB),
    (progress) => progress.unpacked('b', 900 * MB),
    (progress) => progress.unpacked('b', 1 * MB),
    (progress) => progress.unpacked('a', 40 * MB),
    (progress) => progress.loaded(),
  ]);
  for (const key of ['percent', 'bytes_done', 'bytes_total', 'layers_done', 'layers_total'] as const) {
    const values = told.map((one) => one[key]);
    expect(values, key).toEqual(values.toSorted((one, other) => one - other));
  }
  expect(told.map(({ phase }) => phase).lastIndexOf('pulling')).toBe(4);
  expect(told.at(-1)).toMatchObject({ percent: 100, layers_done: 2, bytes_done: 100 * MB });
});
