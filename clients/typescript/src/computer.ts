// One computer: commands, files, ports, terminals, and its life.
import { ComputerFiles } from './computer-files.ts';
import type { Api, ComputerInfo } from './computers.ts';
import { dataOf, SwitchyardError } from './errors.ts';
import type { components } from './openapi.ts';
import { serverEvents } from './server-events.ts';
import { Terminal, type TerminalOptions } from './terminal.ts';

type Schemas = components['schemas'];

export interface ExecOptions extends Omit<Schemas['ExecRequest'], 'command' | 'stream'> {
  /** Ends the wait, and the command too unless `on_disconnect` is `continue`. */
  signal?: AbortSignal | undefined;
}

export interface ExecResult {
  /** What the command wrote, standard error merged in. */
  stdout: string;
  /** Always empty: a computer merges standard error into `stdout`. */
  stderr: '';
  exitCode: number;
  durationMs: number;
}

/** What happens to a streamed command, in order; `exit` is the last one. */
export type ExecEvent =
  | { type: 'started'; execId: string }
  | { type: 'output'; data: Uint8Array }
  | { type: 'exit'; exitCode: number; durationMs: number };

export interface PortLink {
  /** The address; it needs no key, ends with a slash, and takes WebSockets too. */
  url: string;
  /** From then on it opens no new connections. */
  expiresAt: Date;
}

export class Computer implements AsyncDisposable {
  readonly id: string;
  readonly name: string;
  /** The computer as it was when it was created or found; `getInfo` returns it as it is now. */
  readonly info: ComputerInfo;
  readonly files: ComputerFiles;
  /** Servers in the computer. */
  readonly ports = {
    /** Returns an address of a port for browsers and for people without a key. */
    link: async (port: number, { minutes }: { minutes?: number } = {}): Promise<PortLink> => {
      const body = { port, ...(minutes === undefined ? {} : { minutes }) };
      const link = this.#api.POST('/v1/computers/{id}/links', { ...this.#path(), body });
      const { url, expires_at } = await dataOf(link);
      return { url, expiresAt: new Date(expires_at) };
    },
  };
  readonly #api: Api;

  constructor(api: Api, info: ComputerInfo) {
    const { id, name } = info;
    this.#api = api;
    this.id = id;
    this.name = name;
    this.info = info;
    this.files = new ComputerFiles(api, id);
  }

  /**
   * Runs a shell command and resolves with all that it wrote. A command that fails resolves too, with its exit code.
   * @throws SwitchyardError `command_timed_out`, with the output so far in `details.stdout`
   */
  async exec(command: string, options: ExecOptions = {}): Promise<ExecResult> {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    let stdout = '';
    try {
      for await (const event of this.execStream(command, options)) {
        if (event.type === 'output') stdout += decoder.decode(event.data, { stream: true });
        if (event.type === 'exit') {
          const { exitCode, durationMs } = event;
          return { stdout: stdout + decoder.decode(), stderr: '', exitCode, durationMs };
        }
      }
    } catch (error) {
      if (!(error instanceof SwitchyardError)) throw error;
      const { code, message, param, details } = error;
      throw new SwitchyardError({ code, message, param, details: { ...details, stdout } }, error);
    }
    throw connectionLost();
  }

  /** Runs a shell command and yields its output as it is written. Leaving the loop ends the command. */
  async *execStream(
    command: string,
    { signal, ...options }: ExecOptions = {},
  ): AsyncGenerator<ExecEvent, void, undefined> {
    const body = await dataOf(
      this.#api.POST('/v1/computers/{id}/exec', {
        ...this.#path(),
        body: { ...options, command, stream: true },
        parseAs: 'stream',
        signal: signal ?? null,
      }),
    );
    for await (const { data } of serverEvents(body)) {
      const event = toExecEvent(JSON.parse(data) as Schemas['ExecEvent']);
      yield event;
      if (event.type === 'exit') return;
    }
    throw connectionLost();
  }

  /** Opens a login shell in /workspace. */
  async terminal(options: TerminalOptions = {}): Promise<Terminal> {
    const { url } = await dataOf(
      this.#api.POST('/v1/computers/{id}/links', { ...this.#path(), body: { minutes: 1 } }),
    );
    return Terminal.open(url, options);
  }

  /** Returns the computer's state now. */
  getInfo(): Promise<ComputerInfo> {
    return dataOf(this.#api.GET('/v1/computers/{id}', this.#path()));
  }

  /** Starts the stopped computer with its /workspace. */
  start(): Promise<ComputerInfo> {
    return dataOf(this.#api.POST('/v1/computers/{id}/start', this.#path()));
  }

  /** Stops the computer and its minutes; /workspace stays. */
  stop(): Promise<ComputerInfo> {
    return dataOf(this.#api.POST('/v1/computers/{id}/stop', this.#path()));
  }

  /** Deletes the computer and its /workspace. Succeeds if the computer no longer exists: an earlier answer may be lost. */
  async delete(): Promise<void> {
    try {
      await dataOf(this.#api.DELETE('/v1/computers/{id}', this.#path()));
    } catch (error) {
      if (!(error instanceof SwitchyardError) || error.code !== 'computer_not_found') throw error;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.delete();
  }

  #path() {
    return { params: { path: { id: this.id } } };
  }
}

function toExecEvent(event: Schemas['ExecEvent']): ExecEvent {
  switch (event.type) {
    case 'started':
      return { type: 'started', execId: event.exec_id };
    case 'output':
      return { type: 'output', data: bytesOf(event) };
    case 'exit':
      return { type: 'exit', exitCode: event.exit_code, durationMs: event.duration_ms };
    case 'error':
      throw new SwitchyardError(event.error);
    default:
      return event satisfies never;
  }
}

function bytesOf({ data, encoding }: { data: string; encoding: 'utf-8' | 'base64' }): Uint8Array {
  if (encoding === 'utf-8') return new TextEncoder().encode(data);
  return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
}

function connectionLost(): Error {
  return new Error('The connection ended before the command did.');
}
