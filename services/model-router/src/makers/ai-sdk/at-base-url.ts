// Provider packages that know one address of their maker and no setting for another: the fetch goes where the catalog says.
import type { ProviderSettings } from './declaration.ts';

/** A fetch of what is under `origin` from the base URL instead. */
export function atBaseUrl(
  origin: string,
  { baseURL, fetch }: Pick<ProviderSettings, 'baseURL' | 'fetch'>,
): typeof globalThis.fetch {
  return (input, init) => {
    const url = String(input);
    return fetch(url.startsWith(`${origin}/`) ? `${baseURL}${url.slice(origin.length)}` : url, init);
  };
}
