// Reads a bucket's entries with requests that leave nothing behind on the server. Under a pattern: the keys, then the
// last entries of a batch of keys. The KV client's own `keys` and `history` create a lingering consumer per call (the
// server refuses after a thousand), and `keys` can miss a key that is written at that moment.
import type { JetStreamManager, StoredMsg } from '@nats-io/jetstream';
import type { KvEntry } from '@nats-io/kv';
import { isEntry } from './entry-headers.ts';

/** The server refuses a request with more than 1,024 results. */
const KEYS_PER_QUESTION = 500;
const TRIES_MAX = 3;
/** A bucket keeps no more values of a key. */
const HISTORY_MAX = 64;
/** JetStream's status for "no such message". */
const NOT_FOUND = 404;
/** Marks a deletion. */
export const OPERATION_HEADER = 'KV-Operation';

export type LastEntry = Pick<KvEntry, 'key' | 'value' | 'revision'>;

/**
 * @param pattern of keys, like `org_x.>`
 * @returns entries that are neither deleted nor forged (entry-headers.ts), each as of some moment since the call, in no particular order
 * @throws what JetStream throws while it is down
 */
export async function lastEntries(
  jsm: JetStreamManager,
  bucket: string,
  pattern: string,
): Promise<LastEntry[]> {
  return lastOfSubjects(jsm, bucket, await subjectsUnder(jsm, bucket, pattern));
}

/** The same entries of these keys. @throws what JetStream throws while it is down */
export function lastEntriesOf(
  jsm: JetStreamManager,
  bucket: string,
  keys: readonly string[],
): Promise<LastEntry[]> {
  return lastOfSubjects(
    jsm,
    bucket,
    keys.map((key) => prefixOf(bucket) + key),
  );
}

async function lastOfSubjects(
  jsm: JetStreamManager,
  bucket: string,
  subjects: readonly string[],
): Promise<LastEntry[]> {
  return entriesIn(bucket, await lastMessages(jsm, `KV_${bucket}`, subjects));
}

/**
 * The last message of each of these subjects. It may lack some that cannot be read at the moment.
 * @throws what JetStream throws while it is down
 */
export async function lastMessages(
  jsm: JetStreamManager,
  stream: string,
  subjects: readonly string[],
): Promise<StoredMsg[]> {
  const found: StoredMsg[] = [];
  for (let from = 0; from < subjects.length; from += KEYS_PER_QUESTION) {
    const some = subjects.slice(from, from + KEYS_PER_QUESTION);
    const ask = () => jsm.direct.getLastMessagesFor(stream, { multi_last: some });
    found.push(...(await readAgain(() => received(ask()))));
  }
  return found;
}

/** The keys under a pattern, including deleted ones whose marker is kept. @throws what JetStream throws while it is down */
export async function keysUnder(jsm: JetStreamManager, bucket: string, pattern: string): Promise<string[]> {
  const subjects = await subjectsUnder(jsm, bucket, pattern);
  return subjects.map((subject) => subject.slice(prefixOf(bucket).length));
}

async function subjectsUnder(jsm: JetStreamManager, bucket: string, pattern: string): Promise<string[]> {
  const filter = { subjects_filter: prefixOf(bucket) + pattern };
  const { state } = await readAgain(() => jsm.streams.info(`KV_${bucket}`, filter));
  return Object.keys(state.subjects ?? {});
}

/**
 * @returns the entries that are kept of a key, oldest first, without deletions
 * @throws what JetStream throws while it is down
 */
export async function keptEntries(jsm: JetStreamManager, bucket: string, key: string): Promise<LastEntry[]> {
  const asked = { seq: 1, next_by_subj: prefixOf(bucket) + key, batch: HISTORY_MAX };
  return entriesIn(bucket, await readAgain(() => received(jsm.direct.getBatch(`KV_${bucket}`, asked))));
}

function entriesIn(bucket: string, messages: readonly StoredMsg[]): LastEntry[] {
  return messages
    .filter(
      ({ header, subject }) => isEntry(header, `KV_${bucket}`, subject) && !header.has(OPERATION_HEADER),
    )
    .map(({ subject, data, seq }) => ({
      ...{ key: subject.slice(prefixOf(bucket).length), value: data, revision: seq },
    }));
}

async function received(asked: Promise<AsyncIterable<StoredMsg>>): Promise<StoredMsg[]> {
  const messages: StoredMsg[] = [];
  try {
    for await (const message of await asked) messages.push(message);
  } catch (error) {
    if ((error as { code?: unknown }).code !== NOT_FOUND) throw error;
  }
  return messages;
}

/** Reads that were in flight when the server went away get no answer. Repeating a read is safe. */
export async function readAgain<T>(ask: () => Promise<T>, triesLeft = TRIES_MAX): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (triesLeft <= 1) throw error;
    return readAgain(ask, triesLeft - 1);
  }
}

function prefixOf(bucket: string): string {
  return `$KV.${bucket}.`;
}
