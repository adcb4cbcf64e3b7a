// Redirects to another host are refused, since they would send our key or the caller's data to that host. A redirect of
// a GET within the origin is followed.

/** Maximum consecutive redirects. */
const REDIRECTS_MAX = 5;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

interface Redirectable {
  status: number;
  headers: { get(name: string): string | null };
  body: { cancel(): Promise<void> } | null;
}

/**
 * The answer to `url` after redirects within its origin.
 * @param ask sends one request without following redirects (`redirect: 'manual'`)
 * @throws Error for a redirect to another origin, of a method with side effects, or after five in a row
 */
export async function withinOrigin<R extends Redirectable>(
  url: string | URL,
  method: string | undefined,
  ask: (url: URL) => Promise<R>,
): Promise<R> {
  let at = new URL(url);
  for (let redirects = 0; ; redirects += 1) {
    const response = await ask(at);
    const location = REDIRECT_STATUSES.has(response.status) ? response.headers.get('location') : null;
    if (location === null) return response;
    await response.body?.cancel();
    const next = new URL(location, at);
    if (next.origin !== at.origin)
      throw new Error(`the upstream redirects to another host (${response.status})`);
    if (method !== undefined && method.toUpperCase() !== 'GET')
      throw new Error(`the upstream redirects a ${method} (${response.status})`);
    if (redirects >= REDIRECTS_MAX)
      throw new Error(`the upstream redirects more than ${REDIRECTS_MAX} times`);
    at = next;
  }
}
