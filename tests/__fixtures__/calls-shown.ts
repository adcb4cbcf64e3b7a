// Measures how soon the Events page shows calls under load, and its heap growth.
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';

const CALLS_PER_SECOND = 20;
/** The page lists the last 200 events: its heap grows until then. */
const WARM_CALLS = 220;
/** Time for the first, and for the last, calls to be shown. */
const SHOWN_MS_MAX = 60_000;
const LOOK_MS = 200;

export interface CallsShown {
  /** Milliseconds from the end of each answer until the page showed its event, ascending. */
  readonly delaysMs: readonly number[];
  /** Bytes of the heap after a garbage collection: with a full list of events, and at the end. */
  readonly heap: { readonly early: number; readonly late: number };
}

/**
 * @param page shows Events
 * @param call makes a call; resolves with its request id at the end of the answer
 */
export async function measureCallsShown(
  page: Page,
  seconds: number,
  call: () => Promise<string>,
): Promise<CallsShown> {
  await page.evaluate(`(() => {
    globalThis.shownAt = {};
    const note = (row) => { shownAt[row.dataset.event] ??= Date.now(); };
    new MutationObserver(() => document.querySelectorAll('[data-event]').forEach(note)).observe(document.getElementById('main'), { childList: true, subtree: true });
  })()`);
  const answeredAt = new Map<string, number>();
  const started = Date.now();
  const calls: Promise<unknown>[] = [];
  const early = whenShown(page, (shown) => Object.keys(shown).length >= WARM_CALLS).then(() => heapOf(page));
  for (let made = 0; made < seconds * CALLS_PER_SECOND; made += 1) {
    await pause(Math.max(0, started + (made * 1_000) / CALLS_PER_SECOND - Date.now()));
    calls.push(call().then((id) => answeredAt.set(id, Date.now())));
  }
  await Promise.all(calls);
  const shownAt = await whenShown(page, (shown) => [...answeredAt.keys()].every((id) => id in shown));
  const late = await heapOf(page);
  const delaysMs = [...answeredAt].map(([id, at]) => Math.max(0, (shownAt[id] ?? Number.NaN) - at));
  return { delaysMs: delaysMs.sort((a, b) => a - b), heap: { early: await early, late } };
}

/** Event id -> when the page showed it. */
type Shown = Record<string, number>;

async function whenShown(page: Page, isEnough: (shown: Shown) => boolean): Promise<Shown> {
  const until = Date.now() + SHOWN_MS_MAX;
  while (true) {
    const shown = (await page.evaluate('shownAt')) as Shown;
    if (isEnough(shown) || Date.now() > until) return shown;
    await pause(LOOK_MS);
  }
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}
