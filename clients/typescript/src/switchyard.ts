// The client: the whole API as its OpenAPI document types it, and computers as objects.
import createClient, { type Client } from 'openapi-fetch';
import { Computers } from './computers.ts';
import type { paths } from './openapi.ts';
import { retryingFetch } from './retries.ts';

const URL_DEFAULT = 'http://127.0.0.1:8080';
const MAX_RETRIES_DEFAULT = 2;

export interface SwitchyardOptions {
  /** Address of the API, without `/v1`; default: SWITCHYARD_URL, else the address of `npm start`. */
  url?: string | undefined;
  /** Default: SWITCHYARD_KEY. */
  apiKey?: string | undefined;
  /** How often a request is sent again at most; default: 2. */
  maxRetries?: number | undefined;
}

export class Switchyard {
  readonly url: string;
  /** Every endpoint, as openapi-fetch has it: `sy.api.GET('/v1/models')`. `dataOf` turns its errors into exceptions. */
  readonly api: Client<paths, 'application/json'>;
  readonly computers: Computers;

  constructor({ url, apiKey, maxRetries = MAX_RETRIES_DEFAULT }: SwitchyardOptions = {}) {
    const env = globalThis.process?.env ?? {};
    const key = apiKey ?? env.SWITCHYARD_KEY;
    if (!key) throw new Error('No API key. Pass `apiKey` or set SWITCHYARD_KEY.');
    this.url = (url || env.SWITCHYARD_URL || URL_DEFAULT).replace(/\/+$/, '');
    this.api = createClient<paths, 'application/json'>({
      baseUrl: this.url,
      headers: { authorization: `Bearer ${key}` },
      fetch: retryingFetch({ maxRetries }),
    });
    this.computers = new Computers(this.api);
  }
}
