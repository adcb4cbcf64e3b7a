// A client of the computer endpoints; an unexpected answer ends the benchmark.
import { Agent, request } from 'undici';

export interface Computer {
  id: string;
}

/** Any answer. Status 0: the connection broke. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

type Method = 'GET' | 'POST' | 'DELETE';

const CONNECTIONS_MAX = 64;

export class ComputerClient {
  readonly #url: string;
  readonly #key: string;
  readonly #agent = new Agent({ connections: CONNECTIONS_MAX, pipelining: 1 });

  constructor({ url, key }: { url: string; key: string }) {
    this.#url = url;
    this.#key = key;
  }

  create(): Promise<Computer> {
    return this.#call('POST', '/v1/computers', 201, {});
  }

  async exec({ id }: Computer, command: string): Promise<void> {
    const result = await this.#call<{ exit_code: number }>('POST', `/v1/computers/${id}/exec`, 200, {
      command,
    });
    if (result.exit_code !== 0) throw new Error(`${command} ended with ${result.exit_code}`);
  }

  start({ id }: Computer): Promise<Computer> {
    return this.#call('POST', `/v1/computers/${id}/start`, 200);
  }

  stop({ id }: Computer): Promise<Computer> {
    return this.#call('POST', `/v1/computers/${id}/stop`, 200);
  }

  remove({ id }: Computer): Promise<unknown> {
    return this.#call('DELETE', `/v1/computers/${id}`, 200);
  }

  upload({ id }: Computer, file: string): Promise<unknown> {
    return this.#call('POST', `/v1/computers/${id}/upload`, 200, { file, path: 'bench.bin' });
  }

  /** One call whose caller accepts any answer. */
  async attempt(method: Method, path: string, body?: object): Promise<Answer> {
    try {
      return await this.#ask(method, path, body);
    } catch (error) {
      return { status: 0, body: { error: { code: 'connection_broken', message: String(error) } } };
    }
  }

  async #call<T>(method: Method, path: string, expected: number, body?: object): Promise<T> {
    const { status, body: answer } = await this.#ask(method, path, body);
    if (status !== expected) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer as T;
  }

  async #ask(method: Method, path: string, body?: object): Promise<Answer> {
    const { statusCode, body: answer } = await request(this.#url + path, {
      method,
      dispatcher: this.#agent,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return { status: statusCode, body: JSON.parse(await answer.text()) };
  }
}
