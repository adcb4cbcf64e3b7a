// Redirects provider packages without a base URL setting to the address in the catalog.
import type { ProviderSettings } from './declaration.ts';

/** A fetch that replaces `origin` by the base URL. */
export function atBaseUrl(
  origin: string,
  { baseURL, fetch }: Pick<ProviderSettings, 'baseURL' | 'fetch'>,
): typeof globalThis.fetch {
  return (input, init) => {
    const url = String(input);
    return fetch(url.startsWith(`${origin}/`) ? `${baseURL}${url.slice(origin.length)}` : url, init);
  };
}
