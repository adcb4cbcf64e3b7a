// Servers in a computer.
import type { Api } from './computers.ts';
import { dataOf } from './errors.ts';

export interface PortLink {
  /** The address; it needs no key, ends with a slash, and takes WebSockets too. */
  url: string;
  /** From then on it opens no new connections. */
  expiresAt: Date;
}

export class ComputerPorts {
  readonly #api: Api;
  readonly #id: string;

  constructor(api: Api, id: string) {
    this.#api = api;
    this.#id = id;
  }

  /** Returns an address of a port for browsers and for people without a key. */
  async link(port: number, { minutes }: { minutes?: number } = {}): Promise<PortLink> {
    const { url, expires_at } = await dataOf(
      this.#api.POST('/v1/computers/{id}/links', {
        params: { path: { id: this.#id } },
        body: { port, ...(minutes === undefined ? {} : { minutes }) },
      }),
    );
    return { url, expiresAt: new Date(expires_at) };
  }
}
