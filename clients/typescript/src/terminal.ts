// A terminal in a computer, over a WebSocket that works in Node and in browsers alike.

export interface TerminalSize {
  cols: number;
  rows: number;
}

export type TerminalOptions = Partial<TerminalSize>;

/** Iterate over it for the output, as bytes. Leaving the loop ends the shell. */
export class Terminal implements AsyncDisposable {
  /** How the shell ended. Rejects when the connection or the computer ended first. */
  readonly exitCode: Promise<number>;
  readonly #socket: WebSocket;
  readonly #output: ReadableStream<Uint8Array>;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    const exit = Promise.withResolvers<number>();
    this.exitCode = exit.promise;
    exit.promise.catch(() => {}); // callers may ignore how it ended
    let isRead = true;
    this.#output = new ReadableStream({
      start(output) {
        socket.addEventListener('message', ({ data }) => {
          if (typeof data === 'string') exit.resolve((JSON.parse(data) as { exit_code: number }).exit_code);
          else if (isRead) output.enqueue(new Uint8Array(data));
        });
        socket.addEventListener('close', ({ reason }) => {
          exit.reject(new Error(`The terminal was closed${reason ? `: ${reason}` : ''}.`));
          if (isRead) output.close();
        });
      },
      // Leaving a loop over the output cancels it.
      cancel() {
        isRead = false;
        socket.close();
      },
    });
  }

  /** @param url of a link to a terminal */
  static async open(url: string, { cols = 80, rows = 24 }: TerminalOptions = {}): Promise<Terminal> {
    const address = new URL(url);
    address.search = new URLSearchParams({ cols: String(cols), rows: String(rows) }).toString();
    const socket = new WebSocket(address);
    socket.binaryType = 'arraybuffer';
    const terminal = new Terminal(socket);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve(), { once: true });
      socket.addEventListener('close', () => reject(new Error('The terminal could not be opened.')), {
        once: true,
      });
    });
    return terminal;
  }

  /** Waits until the shell ends, without its output, and returns how it ended. */
  async wait(): Promise<number> {
    await this.#output.pipeTo(new WritableStream());
    return this.exitCode;
  }

  /** Sends keyboard input. */
  write(input: string | Uint8Array<ArrayBuffer>): void {
    this.#socket.send(typeof input === 'string' ? new TextEncoder().encode(input) : input);
  }

  resize({ cols, rows }: TerminalSize): void {
    this.#socket.send(JSON.stringify({ type: 'resize', cols, rows }));
  }

  /** Ends the shell and everything that was started in it. */
  async close(): Promise<void> {
    this.#socket.close();
    await this.exitCode.catch(() => {});
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#output[Symbol.asyncIterator]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
