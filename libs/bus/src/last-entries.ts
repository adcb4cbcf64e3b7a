// Lists a bucket's entries under a pattern with two kinds of requests that leave nothing behind on the server: the
// keys, then the last entries of a batch of keys. The KV client's own `keys` creates a lingering consumer per listing
// (the server refuses after a thousand), and it can miss a key that is written at that moment.
import type { JetStreamManager } from '@nats-io/jetstream';
import type { KvEntry } from '@nats-io/kv';

/** The server refuses a request with more than 1,024 results. */
const KEYS_PER_QUESTION = 500;
/** Requests that were in flight when the server went away get no answer. Repeating them is safe. */
const TRIES_MAX = 3;

const OPERATION_HEADER = 'KV-Operation';

export type LastEntry = Pick<KvEntry, 'key' | 'value' | 'revision'>;

/**
 * @param pattern of keys, like `org_x.>`
 * @returns entries that are not deleted, each as of some moment since the call, in no particular order
 * @throws what JetStream throws while it is away
 */
export async function lastEntries(
  jsm: JetStreamManager,
  bucket: string,
  pattern: string,
): Promise<LastEntry[]> {
  const prefix = `$KV.${bucket}.`;
  const stream = `KV_${bucket}`;
  const { state } = await again(() => jsm.streams.info(stream, { subjects_filter: prefix + pattern }));
  const subjects = Object.keys(state.subjects ?? {});
  const found: LastEntry[] = [];
  for (let from = 0; from < subjects.length; from += KEYS_PER_QUESTION) {
    const some = subjects.slice(from, from + KEYS_PER_QUESTION);
    found.push(...(await again(() => lastOf(jsm, stream, some, prefix.length))));
  }
  return found;
}

async function lastOf(
  jsm: JetStreamManager,
  stream: string,
  subjects: string[],
  prefixLength: number,
): Promise<LastEntry[]> {
  const entries: LastEntry[] = [];
  for await (const message of await jsm.direct.getLastMessagesFor(stream, { multi_last: subjects })) {
    if (message.header.get(OPERATION_HEADER) !== '') continue; // a deletion marker
    entries.push({ key: message.subject.slice(prefixLength), value: message.data, revision: message.seq });
  }
  return entries;
}

async function again<T>(ask: () => Promise<T>, triesLeft = TRIES_MAX): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (triesLeft <= 1) throw error;
    return again(ask, triesLeft - 1);
  }
}
