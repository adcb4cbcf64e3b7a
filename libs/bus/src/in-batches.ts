// Runs many JetStream requests, a few at a time: JetStream drops requests when its queue is too long.

/** Requests in flight at the same time. */
const BATCH = 128;

/** The answers, in the order of the items. Throws when one request fails. */
export async function inBatches<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  for (let at = 0; at < items.length; at += BATCH)
    answers.push(...(await Promise.all(items.slice(at, at + BATCH).map(ask))));
  return answers;
}
