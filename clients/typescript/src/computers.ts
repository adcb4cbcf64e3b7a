// `sy.computers`: creates, finds and lists computers.
import type { Client } from 'openapi-fetch';
import { Computer } from './computer.ts';
import { dataOf, SwitchyardError } from './errors.ts';
import type { components, paths } from './openapi.ts';
import { serverEvents } from './server-events.ts';

export type Api = Client<paths, 'application/json'>;
type Schemas = components['schemas'];
/** A computer as the API describes it. */
export type ComputerInfo = Schemas['Computer'];
/** How far the pull of an image is. */
export type CreationProgress = Schemas['CreationProgress'];

export interface CreateComputerOptions extends Omit<Schemas['CreateComputerRequest'], 'stream'> {
  /** Called while an image is pulled. The creation is then a stream, which is not sent again after a lost connection. */
  onProgress?: (progress: CreationProgress) => void;
}

export class Computers {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Creates a computer and resolves when it runs. `await using` deletes it at the end of the block. */
  async create({ onProgress, ...wish }: CreateComputerOptions = {}): Promise<Computer> {
    if (!onProgress) {
      const info = await dataOf(this.#api.POST('/v1/computers', { body: wish }));
      return new Computer(this.#api, info as ComputerInfo);
    }
    const body = await dataOf(
      this.#api.POST('/v1/computers', { body: { ...wish, stream: true }, parseAs: 'stream' }),
    );
    for await (const { data } of serverEvents(body)) {
      const event = JSON.parse(data) as Schemas['CreationEvent'];
      if (event.type === 'progress') onProgress(event.progress);
      if (event.type === 'computer') return new Computer(this.#api, event.computer);
      if (event.type === 'error') throw new SwitchyardError(event.error);
    }
    throw new Error('The connection ended before the computer was created.');
  }

  /** Returns an existing computer. */
  async get(id: string): Promise<Computer> {
    const info = await dataOf(this.#api.GET('/v1/computers/{id}', { params: { path: { id } } }));
    return new Computer(this.#api, info);
  }

  /** Returns the computers of your org. */
  async list(): Promise<ComputerInfo[]> {
    return (await dataOf(this.#api.GET('/v1/computers'))).data;
  }
}
