// Which requests are sent again, and when: by the rules of the Python client, which also repeats PUTs of text and bytes.
import { setTimeout as sleep } from 'node:timers/promises';

const KEY = 'idempotency-key';
const RETRY_DELAY_MS_MIN = 500;
const RETRY_DELAY_MS_MAX = 60_000;
/** Longest pause between two polls for the answer of the first request under a key; polls count in the rate limits. */
const ASK_DELAY_MS_MAX = 10_000;
/** How long a repeat waits for the answer of the first request under its key. */
const WAIT_MS_MAX = 600_000;
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(['GET', 'PUT', 'DELETE']);
/** What a proxy answers when it cannot reach the API. */
const PROXY_FAILED: ReadonlySet<number> = new Set([502, 503, 504]);
/** Codes of Node for a request that was never sent. */
const NOT_CONNECTED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

interface RetryOptions {
  maxRetries: number;
  waitMsMax?: number;
}

/** Returns a `fetch` that sends a request again when that is safe and makes sense. An upload is sent once. */
export function retryingFetch({ maxRetries, waitMsMax = WAIT_MS_MAX }: RetryOptions) {
  return async (request: Request): Promise<Response> => {
    if (maxRetries === 0 || isUpload(request)) return fetch(request);
    const body = await request.text();
    const headers = new Headers(request.headers);
    const retries = new Retries({ method: request.method, headers, body, maxRetries, waitMsMax });
    for (;;) {
      let delayMs: number | null;
      const sent = new Request(request, { headers, ...(body === '' ? {} : { body }) });
      try {
        const response = await fetch(sent);
        if (response.ok) return response;
        delayMs = retries.afterError(response, await errorCodeOf(response));
        if (delayMs === null) return response;
      } catch (lost) {
        delayMs = request.signal.aborted ? null : retries.afterLoss(lost);
        if (delayMs === null) throw lost;
      }
      const { signal } = request;
      await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  };
}

interface RetriedRequest {
  maxRetries: number;
  waitMsMax: number;
  method: string;
  /** Its `Idempotency-Key` is added, and removed again if no answer can be kept. */
  headers: Headers;
  body: string;
}

/**
 * Every POST that is not a stream gets an `Idempotency-Key`, so that it runs once however often it is sent. It is sent
 * again after a lost connection, and when the answer's `x-should-retry` says that this makes sense.
 * `afterLoss` and `afterError` return the milliseconds to wait before the request is sent again, or null if it is not.
 */
class Retries {
  readonly #request: RetriedRequest;
  readonly #isStream: boolean;
  readonly #hasGeneratedKey: boolean;
  readonly #waitsUntil: number;
  #retries = 0;
  #asked = 0;

  constructor(request: RetriedRequest) {
    const { method, headers, body, waitMsMax } = request;
    this.#request = request;
    this.#isStream = body.includes('"stream":true'); // as JSON.stringify writes it
    this.#hasGeneratedKey = method === 'POST' && !headers.has(KEY) && !this.#isStream;
    this.#waitsUntil = performance.now() + waitMsMax;
    if (this.#hasGeneratedKey) headers.set(KEY, crypto.randomUUID());
  }

  afterLoss(lost: unknown): number | null {
    const wasSent = !NOT_CONNECTED.has(((lost as Error).cause as { code?: unknown } | undefined)?.code);
    if (wasSent && (this.#isStream || !this.#isIdempotent())) return null;
    return this.#nextDelayMs(null);
  }

  afterError({ status, headers }: Response, code: string | undefined): number | null {
    if (this.#hasGeneratedKey && code === 'idempotency_quota_exceeded') {
      this.#request.headers.delete(KEY); // nothing ran; without a key it may run
      return this.#nextDelayMs('0');
    }
    const advice = headers.get('x-should-retry');
    const isLostByProxy = !this.#isStream && this.#isIdempotent() && PROXY_FAILED.has(status);
    if (!(advice === null ? isLostByProxy : advice === 'true')) return null;
    const retryAfter = headers.get('retry-after');
    if (code !== 'idempotency_in_use') return this.#nextDelayMs(retryAfter);
    // Waiting for the answer of the first request does not count as a retry.
    if (performance.now() >= this.#waitsUntil) return null;
    this.#asked += 1;
    return Math.max(delayMsOf(1, retryAfter), Math.min(delayMsOf(this.#asked, null), ASK_DELAY_MS_MAX));
  }

  #isIdempotent(): boolean {
    return IDEMPOTENT_METHODS.has(this.#request.method) || this.#request.headers.has(KEY);
  }

  #nextDelayMs(retryAfter: string | null): number | null {
    if (this.#retries >= this.#request.maxRetries) return null;
    this.#retries += 1;
    return delayMsOf(this.#retries, retryAfter);
  }
}

/** Doubles with each attempt, with jitter, so that many clients do not come back at once. */
function delayMsOf(attempt: number, retryAfter: string | null): number {
  if (retryAfter !== null && /^\d+$/.test(retryAfter))
    return Math.min(Number(retryAfter) * 1_000, RETRY_DELAY_MS_MAX);
  return Math.min(RETRY_DELAY_MS_MIN * 2 ** (attempt - 1), RETRY_DELAY_MS_MAX) * (0.75 + Math.random() / 4);
}

/** Its body may be a stream, which cannot be sent again, or too large to keep. */
function isUpload({ headers }: Request): boolean {
  return !(headers.get('content-type') ?? 'application/json').startsWith('application/json');
}

/** Leaves the body to the caller. */
async function errorCodeOf(response: Response): Promise<string | undefined> {
  const body = response.clone().json() as Promise<{ error?: { code?: string } } | null>;
  return (await body.catch(() => null))?.error?.code;
}
