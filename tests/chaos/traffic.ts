// Mixed traffic on an installation whose processes are being killed, and the outcome that each caller saw.
import type { Chance } from './random.ts';

export interface Caller {
  readonly url: string;
  readonly key: string;
}

/** Outcome of a call for its caller. */
export type Outcome =
  /** The caller received the answer and its cost. */
  | { readonly how: 'answered'; readonly what: string; readonly id: string; readonly nanos: bigint }
  /** The caller left in mid-stream: output produced until then may be charged. */
  | { readonly how: 'left'; readonly what: string; readonly id: string }
  /** The caller got an error or a cut answer: nothing may be charged. `id` is null when no head arrived. */
  | { readonly how: 'failed'; readonly what: string; readonly id: string | null; readonly why: string }
  /** The connection was refused: there was no call. */
  | { readonly how: 'refused' };

/** Longer than any call of a living service takes. */
const CALL_TIMEOUT_MS = 60_000;

type Read = (response: Response, leave: () => void) => Promise<bigint | 'left' | { cut: string }>;
interface Kind {
  readonly what: string;
  /** Relative frequency: kinds that run programs on this machine are rare. */
  readonly weight: number;
  readonly path: string;
  readonly body: () => FormData | Record<string, unknown>;
  readonly read: Read;
  /** Uses the key that has a limit. */
  readonly limited?: true;
}

export const nanosOf = (dollars: number | string) => BigInt(Math.round(Number(dollars) * 1e9));

const fromJson: Read = async (response) => {
  const { usage } = (await response.json()) as { usage: { cost: number } };
  return nanosOf(usage.cost);
};

const fromHeader: Read = async (response) => {
  await response.arrayBuffer();
  return nanosOf(response.headers.get('x-service-cost') ?? Number.NaN);
};

const fromStream: Read = async (response) => {
  const events = (await response.text()).trimEnd().split('\n\n');
  if (events.at(-1) !== 'data: [DONE]') return { cut: events.at(-1) ?? 'an empty stream' };
  const last = JSON.parse((events.at(-2) ?? '').slice('data: '.length)) as { usage: { cost: number } };
  return nanosOf(last.usage.cost);
};

/** Reads the first piece of a stream and leaves. */
const leaving: Read = async (response, leave) => {
  await response.body?.getReader().read();
  leave();
  return 'left';
};

/** Seven of the eight types; videos are jobs, made by `videoJob`. */
function kindsOf(sound: Blob): Kind[] {
  const messages = [{ role: 'user', content: 'Hello!' }];
  const chat = (model: string, stream: boolean, also = {}) => ({
    path: '/v1/chat/completions',
    body: () => ({ model, messages, ...(stream ? { stream } : {}), ...also }),
  });
  return [
    { what: 'chat', weight: 20, ...chat('acme/quick', false), read: fromJson },
    { what: 'chat that thinks', weight: 10, ...chat('acme/thinks', false), read: fromJson },
    { what: 'stream', weight: 20, ...chat('acme/talks', true), read: fromStream },
    { what: 'stream left', weight: 10, ...chat('acme/talks', true), read: leaving },
    {
      ...{ what: 'chat that falls back', weight: 5, read: fromJson },
      ...chat('acme/broken', false, { models: ['acme/quick'] }),
    },
    { what: 'chat within a limit', weight: 10, ...chat('acme/quick', false), read: fromJson, limited: true },
    {
      what: 'stream within a limit',
      weight: 5,
      ...chat('acme/talks', true),
      read: fromStream,
      limited: true,
    },
    {
      ...{ what: 'embedding', weight: 10, path: '/v1/embeddings', read: fromJson },
      body: () => ({ model: 'acme/embed-1', input: 'Hello!' }),
    },
    {
      ...{ what: 'rerank', weight: 5, path: '/v1/rerank', read: fromJson },
      body: () => ({ model: 'local/rerank', query: 'bread', documents: ['Bread is baked.', 'Rain falls.'] }),
    },
    {
      ...{ what: 'decision', weight: 5, path: '/v1/decisions', read: fromJson },
      body: () => ({
        model: 'local/decide',
        state: { text: 'The parcel never arrived.' },
        questions: { sad: { type: 'boolean', instructions: 'Is it sad?' } },
      }),
    },
    {
      ...{ what: 'image', weight: 2, path: '/v1/images/generations', read: fromJson },
      body: () => ({ model: 'local/image', prompt: 'a red boat' }),
    },
    {
      ...{ what: 'speech', weight: 2, path: '/v1/audio/speech', read: fromHeader },
      body: () => ({ model: 'local/speech', input: 'seven', voice: 'alloy', response_format: 'wav' }),
    },
    {
      ...{ what: 'transcription', weight: 1, path: '/v1/audio/transcriptions', read: fromJson },
      body: () => {
        const form = new FormData();
        form.set('model', 'local/transcribe');
        form.set('file', sound, 'seven.wav');
        return form;
      },
    },
  ];
}

export interface Traffic {
  /** Makes one call of a random kind. */
  call(chance: Chance): Promise<Outcome>;
  readonly kinds: readonly string[];
  /** Kinds without any answer so far. */
  readonly unanswered: number;
}

export function trafficOf(caller: Caller, limitedKey: string, sound: Blob): Traffic {
  const kinds = kindsOf(sound);
  const draw = kinds.flatMap((kind) => Array.from({ length: kind.weight }, () => kind));
  const unanswered = new Set(kinds);
  return {
    kinds: kinds.map(({ what }) => what),
    get unanswered() {
      return unanswered.size;
    },
    async call(chance) {
      // Half of the calls are of kinds without any answer so far, while there are some.
      const isNeeded = unanswered.size > 0 && chance.next() < 0.5;
      const kind = chance.pick(isNeeded ? [...unanswered] : draw);
      const outcome = await makeCall(kind.limited ? { ...caller, key: limitedKey } : caller, kind);
      if (outcome.how === 'answered' || outcome.how === 'left') unanswered.delete(kind);
      return outcome;
    },
  };
}

async function makeCall(caller: Caller, { what, path, body, read }: Kind): Promise<Outcome> {
  const leaving = new AbortController();
  let id: string | null = null;
  try {
    const response = await post(
      caller,
      path,
      body(),
      AbortSignal.any([leaving.signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]),
    );
    id = response.headers.get('x-request-id');
    if (response.status !== 200)
      return { how: 'failed', what, id, why: `${response.status} ${await response.text()}` };
    const end = await read(response, () => leaving.abort());
    if (typeof end === 'object') return { how: 'failed', what, id, why: end.cut };
    if (id === null) throw new Error(`${path}: an answer without x-request-id`);
    return end === 'left' ? { how: 'left', what, id } : { how: 'answered', what, id, nanos: end };
  } catch (error) {
    if (id === null && isRefused(error)) return { how: 'refused' };
    return { how: 'failed', what, id, why: String(error) };
  }
}

export function post(
  { url, key }: Caller,
  path: string,
  body: FormData | Record<string, unknown>,
  signal: AbortSignal = AbortSignal.timeout(CALL_TIMEOUT_MS),
): Promise<Response> {
  const isForm = body instanceof FormData;
  const headers = {
    authorization: `Bearer ${key}`,
    ...(isForm ? {} : { 'content-type': 'application/json' }),
  };
  return fetch(url + path, { method: 'POST', headers, body: isForm ? body : JSON.stringify(body), signal });
}

export function isRefused(error: unknown): boolean {
  return error instanceof Error && (error.cause as { code?: string } | undefined)?.code === 'ECONNREFUSED';
}
