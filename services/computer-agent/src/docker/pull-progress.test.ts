// What is told of a pull, by lines as the engine (20.10) writes them.
import { expect, test } from 'vitest';
import { type PullEvent, PullProgress } from './pull-progress.ts';

const MB = 1_000_000;
const line = (id: string, status: string, current?: number, total?: number): PullEvent => ({
  id,
  status,
  ...(current === undefined ? {} : { progressDetail: { current, total } }),
});

/** How far it is after each line. */
function after(lines: readonly PullEvent[]) {
  const progress = new PullProgress();
  return lines.map((one) => {
    progress.take(one);
    return progress.now;
  });
}

test('of two layers, one of which was there, it goes from nothing to all', () => {
  const told = after([
    { status: 'Pulling from a/b', id: 'sha256:0' },
    line('there', 'Already exists'),
    line('new', 'Pulling fs layer'),
    line('new', 'Downloading', 10 * MB, 40 * MB),
    line('new', 'Verifying Checksum'),
    line('new', 'Download complete'),
    line('new', 'Extracting', 20 * MB, 40 * MB),
    line('new', 'Pull complete'),
    { status: 'Digest: sha256:0' },
  ]);
  const layers_total = 2;
  const nothing = { phase: 'pulling', percent: 0, bytes_done: 0, bytes_total: 0, layers_total };
  const bytes_total = 40 * MB;
  const all = { phase: 'extracting', bytes_done: bytes_total, bytes_total, layers_total };
  expect(told).toEqual([
    { ...nothing, layers_done: 0, layers_total: 0 },
    { ...nothing, layers_done: 1, layers_total: 1 },
    { ...nothing, layers_done: 1 },
    { ...nothing, percent: 12, bytes_done: 10 * MB, bytes_total, layers_done: 1 },
    { ...nothing, percent: 12, bytes_done: 10 * MB, bytes_total, layers_done: 1 },
    { ...all, percent: 50, layers_done: 1 },
    { ...all, percent: 75, layers_done: 1 },
    { ...all, percent: 100, layers_done: 2 },
    { ...all, percent: 100, layers_done: 2 },
  ]);
});

test('it never goes back: neither with a layer that is larger than was thought, nor with one that is fetched anew', () => {
  const told = after([
    ...['a', 'b', 'c'].map((id) => line(id, 'Pulling fs layer')),
    line('c', 'Waiting'),
    line('a', 'Downloading', MB, 2 * MB),
    line('b', 'Downloading', MB, 2 * MB),
    line('b', 'Retrying in 5 seconds'),
    line('b', 'Downloading', 0, 2 * MB),
    line('a', 'Download complete'),
    line('c', 'Downloading', 0, 900 * MB),
    line('a', 'Extracting', 2 * MB, 2 * MB),
    line('a', 'Pull complete'),
    line('c', 'Download complete'),
    line('b', 'Download complete'),
    line('b', 'Pull complete'),
    line('c', 'Extracting', 450 * MB, 900 * MB),
    line('c', 'Pull complete'),
  ]);
  for (const key of ['percent', 'bytes_done', 'bytes_total', 'layers_done', 'layers_total'] as const) {
    const values = told.map((one) => one[key]);
    expect(values, key).toEqual(values.toSorted((one, other) => one - other));
  }
  expect(told.map(({ phase }) => phase).lastIndexOf('pulling')).toBe(12);
  expect(told.at(-2)?.percent).toBe(75);
  expect(told.at(-1)).toMatchObject({ percent: 100, layers_done: 3, bytes_done: 904 * MB });
});
