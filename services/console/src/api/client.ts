// Calls of the API by the session cookie, which all tabs share. The session's token against cross-site requests is kept
// in memory only.
import { CSRF_HEADER, IDEMPOTENCY_HEADER, type SessionObject } from '@switchyard/contracts';
import { keepPreviousData, QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query';

/** Sent when the token is not known yet: after a reload. */
const NO_TOKEN = '?';

const SESSION = '/v1/session';
/** The browser has removed the cookie. */
const SESSION_ENDED = 'Your session has ended. Sign in again.';

const SIGNED_OUT = 'You have signed out in another tab.';

/** Carries the token of a session that was signed out, to all tabs: their live events and terminals end, too. */
let tabs: BroadcastChannel | null = null;
let session: SessionObject | null = null;
let onSignedOut = (_reason: string | null) => {};

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

interface CallOptions {
  readonly method?: string;
  /** Sent as JSON, unless it is a form or a file. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** @throws ApiError for an answer that is an error */
export function call(path: string, options: CallOptions = {}): Promise<Response> {
  return withToken(path, (token) => send(path, token, options));
}

/** After another tab signed in, repeats a request with its token, or reloads the page if its key is another. */
async function withToken<T>(path: string, attempt: (token: string) => Promise<T>): Promise<T> {
  try {
    return await attempt(session?.csrf_token ?? NO_TOKEN);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'csrf_token_invalid')) throw error;
    const current = await json<SessionObject>(SESSION);
    if (current.key.id !== session?.key.id && path !== SESSION) {
      location.reload();
      throw error;
    }
    session = current;
    return attempt(current.csrf_token);
  }
}

async function send(path: string, token: string, options: CallOptions): Promise<Response> {
  const { body, signal } = options;
  const raw = body instanceof FormData || body instanceof Blob || body === undefined;
  const answer = await fetch(path, {
    method: options.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      [CSRF_HEADER]: token,
      ...(raw ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body: raw ? (body as BodyInit) : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  }).catch((error: Error) => {
    throw error.name === 'AbortError' ? error : connectionLost(error);
  });
  if (answer.ok) return answer;
  throw refusalOf(path, answer.status, await answer.text());
}

function connectionLost(cause?: Error): Error {
  return new Error('Switchyard cannot be reached. Check the connection and try again.', { cause });
}

/** The error of an answer; status 401 ends the session here. */
function refusalOf(path: string, status: number, body: string): ApiError {
  const refusal = errorOf(status, body);
  // Requests sent before a sign-out get 401, too.
  if (status === 401 && session !== null && !path.startsWith(SESSION))
    forgetSession(refusal.code === 'missing_api_key' ? SESSION_ENDED : refusal.message);
  return refusal;
}

function errorOf(status: number, body: string): ApiError {
  try {
    const { error } = JSON.parse(body) as { error: { code: string; message: string } };
    return new ApiError(status, error.code, error.message);
  } catch {
    // From a proxy in front of the API, for example.
    return new ApiError(status, 'unknown', `The answer had status ${status} without a reason. Try again.`);
  }
}

export async function json<T>(path: string, options?: CallOptions): Promise<T> {
  return (await call(path, options)).json() as Promise<T>;
}

/** Sends a POST and resolves with its JSON. */
export type Post = <T>(path: string, body?: unknown) => Promise<T>;

/**
 * Returns the POST of one dialog: a retry after an unknown outcome has the key of the first attempt, and so runs once
 * (docs/idempotency.md).
 */
export function postOnce(): Post {
  const keys = new Map<string, string>();
  return async <T>(path: string, body?: unknown): Promise<T> => {
    const request = JSON.stringify([path, body]);
    const key = keys.get(request) ?? newKey();
    keys.set(request, key);
    try {
      const answer = await json<T>(path, { method: 'POST', body, headers: { [IDEMPOTENCY_HEADER]: key } });
      keys.delete(request);
      return answer;
    } catch (error) {
      if (wasRefused(error)) keys.delete(request);
      throw error;
    }
  };
}

/** Whether nothing was done. */
function wasRefused(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && error.code !== 'idempotency_in_use';
}

/** Whether the thing does not exist, or not any more. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Not `randomUUID`, which pages over plain HTTP lack. */
function newKey(): string {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status < 500),
      staleTime: 5_000,
      // The installation may run on this machine, which the browser calls offline without a network.
      networkMode: 'always',
      refetchOnReconnect: true,
    },
  },
});

interface GetOptions<T> {
  /** Milliseconds between repeats, while it is a number. After a 404, a function is not called. */
  readonly repeatMs?: number | ((shown: T | undefined) => number | false);
  /** Shows the answer of the former path until that of a new one arrives. */
  readonly keepsFormer?: true;
}

/** GET of a path, kept up to date by live events (see `refresh`). */
export function useGet<T>(
  path: string | null,
  { repeatMs, keepsFormer }: GetOptions<T> = {},
): UseQueryResult<T> {
  return useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => json<T>(path as string, { signal }),
    enabled: path !== null,
    refetchInterval:
      typeof repeatMs === 'function'
        ? ({ state }) => !isGone(state.error) && repeatMs(state.data as T | undefined)
        : (repeatMs ?? false),
    ...(keepsFormer ? { placeholderData: keepPreviousData } : {}),
  });
}

/** Reloads what is shown of these paths. */
export function refresh(...prefixes: string[]): Promise<void> {
  return queries.invalidateQueries({
    predicate: ({ queryKey: [path] }) =>
      typeof path === 'string' && prefixes.some((prefix) => path.startsWith(prefix)),
  });
}

/** Signs in with a key, with the token of a sign-in link, or by the cookie that the browser has. */
export async function signIn(by: { key: string } | { token: string } | null): Promise<SessionObject> {
  session = await json<SessionObject>(SESSION, optionsOf(by));
  return session;
}

function optionsOf(by: { key: string } | { token: string } | null): CallOptions {
  if (by === null) return {};
  if ('token' in by) return { body: by };
  // `fetch` would refuse the header as it refuses to connect.
  if (!/^[\x21-\x7e\xa1-\xff]+$/.test(by.key))
    throw new Error('This is not an API key: it has characters that no key has. Copy the whole key again.');
  return { method: 'POST', headers: { authorization: `Bearer ${by.key}` } };
}

/** @throws Error when the session may still be open; then it is kept here, too */
export async function signOut(): Promise<void> {
  try {
    await call(SESSION, { method: 'DELETE' });
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error; // 401: it has ended already
  }
  tabs?.postMessage(session?.csrf_token);
  forgetSession(null);
}

/** The next user to sign in may be of another org. */
function forgetSession(reason: string | null): void {
  session = null;
  queries.clear();
  onSignedOut(reason);
}

/** @param listener gets the reason, or null when the user signed out */
export function whenSignedOut(listener: (reason: string | null) => void): void {
  onSignedOut = listener;
  tabs = new BroadcastChannel('switchyard-session');
  tabs.onmessage = ({ data }) => session?.csrf_token === data && forgetSession(SIGNED_OUT);
}

/** Sends a form and reports the share that was sent: `fetch` cannot. */
export function upload(path: string, form: FormData, onShare: (share: number) => void): Promise<void> {
  return withToken(path, (token) => sendForm(path, token, form, onShare));
}

function sendForm(
  path: string,
  token: string,
  form: FormData,
  onShare: (share: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    request.setRequestHeader(CSRF_HEADER, token);
    request.upload.onprogress = ({ loaded, total }) => onShare(total === 0 ? 0 : loaded / total);
    request.onerror = () => reject(connectionLost());
    request.onload = () => {
      if (request.status < 300) return resolve();
      reject(refusalOf(path, request.status, request.responseText));
    };
    request.send(form);
  });
}
