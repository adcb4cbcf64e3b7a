// Commands without a waiting caller: whether they run, and their results, which the init keeps for commands that
// continue without their caller.
import { type ExecList, type ExecObject, pageOf, ServiceError } from '@switchyard/contracts';
import type { InitClient } from '../computer/init-client.ts';
import { toResult } from './command.ts';

type Outcome = Pick<ExecObject, 'result' | 'error'>;

export class ExecResults {
  readonly #init: Pick<InitClient, 'execs' | 'attach'>;
  /** Results being fetched. The init sends a result to one request at a time. */
  readonly #fetching = new Map<string, Promise<Outcome>>();

  constructor(init: Pick<InitClient, 'execs' | 'attach'>) {
    this.#init = init;
  }

  /** Running commands, and those with a kept result. */
  async list(): Promise<ExecList> {
    const known = await this.#init.execs();
    const shown = known.filter(({ id, running, kept }) => running || kept || this.#fetching.has(id));
    const data = shown.map(({ id, running }) => ({
      id,
      object: 'exec' as const,
      status: this.#status(id, running),
    }));
    return pageOf(data, false, ({ id }) => id);
  }

  /** @throws ServiceError `exec_not_found`. */
  async get(id: string): Promise<ExecObject> {
    const known = (await this.#init.execs()).find((exec) => exec.id === id);
    if (!known || !(known.running || known.kept)) throw notFound();
    if (this.#status(id, known.running) === 'running')
      return { id, object: 'exec', status: 'running', result: null, error: null };
    return { id, object: 'exec', status: 'finished', ...(await this.#fetch(id)) };
  }

  #status(id: string, running: boolean): ExecObject['status'] {
    return running && !this.#fetching.has(id) ? 'running' : 'finished';
  }

  #fetch(id: string): Promise<Outcome> {
    const known = this.#fetching.get(id);
    if (known) return known;
    const fetched = this.#receive(id).finally(() => this.#fetching.delete(id));
    this.#fetching.set(id, fetched);
    return fetched;
  }

  async #receive(id: string): Promise<Outcome> {
    try {
      const raw = await this.#init.attach(id);
      return { result: toResult(raw), error: null };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { code, message, details } = error;
      if (details?.reason === 'unknown_exec') throw notFound(error);
      // Without a reason, the connection to the init failed, and the state of the command is unknown.
      if (code === 'computer_failed' && details?.reason === undefined) throw error;
      return { result: null, error: { code, message, ...(details ? { details } : {}) } };
    }
  }
}

function notFound(cause?: unknown): ServiceError {
  return new ServiceError(
    'exec_not_found',
    'no command of this id is known, or its result is no longer kept',
    {
      cause,
    },
  );
}
