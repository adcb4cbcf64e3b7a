// Many questions to JetStream, a few at a time: it drops what waits in a queue that is too long.

/** Questions that are under way at the same time. */
const BATCH = 128;

/** The answers, in the order of the items. Throws as soon as one question does. */
export async function inBatches<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  for (let at = 0; at < items.length; at += BATCH)
    answers.push(...(await Promise.all(items.slice(at, at + BATCH).map(ask))));
  return answers;
}
