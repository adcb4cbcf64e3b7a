import { expect, test } from 'vitest';
import { SLOT_MS, SlidingWindow, WINDOW_MS } from './sliding-window.ts';

test('an amount counts for at least a minute, and for at most a slot longer', () => {
  const window = new SlidingWindow();
  window.add(100, 3);
  expect(window.total(100 + WINDOW_MS)).toBe(3);
  expect(window.total(SLOT_MS + WINDOW_MS)).toBe(0);
});

test('no minute has more than was counted in it, wherever the minute begins', () => {
  const window = new SlidingWindow();
  const limit = 10;
  const taken: number[] = [];
  for (let now = 0; now < 5 * WINDOW_MS; now += 777) {
    if (window.total(now) + 1 > limit) continue;
    window.add(now, 1);
    taken.push(now);
  }
  for (const from of taken) {
    const inMinute = taken.filter((at) => at >= from && at < from + WINDOW_MS);
    expect(inMinute.length).toBeLessThanOrEqual(limit);
  }
  expect(taken.length).toBeGreaterThan(4 * limit * 0.9);
});

test('a returned amount leaves the slot in which it was taken', () => {
  const window = new SlidingWindow();
  window.add(0, 1_000);
  window.add(30_000, 50);
  window.add(30_000, -800, 30_000);
  expect(window.total(30_000)).toBe(250);
  expect(window.total(WINDOW_MS + SLOT_MS)).toBe(50);
});

test('an amount that left the window is not given back again', () => {
  const window = new SlidingWindow();
  window.add(0, 1_000);
  const now = 2 * WINDOW_MS;
  window.add(now, 7);
  window.add(now, -800, now);
  expect(window.total(now)).toBe(7);
});

test('says when more of it is left, when an amount fits, and when it is empty', () => {
  const window = new SlidingWindow();
  expect([window.nextMs(0), window.emptyMs(0), window.roomMs(0, 5, 10)]).toEqual([0, 0, 0]);
  window.add(0, 6);
  window.add(20_000, 4);
  const now = 30_000;
  expect(window.nextMs(now)).toBe(WINDOW_MS + SLOT_MS - now);
  expect(window.emptyMs(now)).toBe(WINDOW_MS + SLOT_MS - 10_000);
  expect(window.roomMs(now, 6, 10)).toBe(WINDOW_MS + SLOT_MS - now);
  expect(window.roomMs(now, 7, 10)).toBe(WINDOW_MS + SLOT_MS - 10_000);
});
