// What a command in a computer is asked to do, and what is known when it has ended.

/** Bytes of a streamed exec's output that its taker has in hand at most; as much again, and the cap, wait in the init. */
export const STREAM_WINDOW_BYTES = 256 * 1024;

export interface ExecOptions {
  /**
   * Names this exec within its computer, 1 to 64 characters; a request id serves well. The init keeps the result
   * under it until it was received, so that an agent which restarts in between can `attach` to it. A second exec
   * with an id that the init still knows is not run: it attaches to the first.
   */
  readonly id: string;
  /** Run by bash where the image has it, else by sh. At most 65,536 bytes. */
  readonly command: string;
  /** After this the whole process tree is killed and the result says `timedOut`. */
  readonly timeoutMs: number;
  /** Output kept; what is over it is read and dropped, and the result says `truncated`. At most 16 MiB. */
  readonly outputBytesMax: number;
  /** Absolute, or relative to /workspace, which is the default. */
  readonly cwd?: string | undefined;
  /** Added to the image's own environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Standard input, at most 4 MiB; without it /dev/null. */
  readonly stdin?: Uint8Array | undefined;
  /** Called with each piece of output as it comes; the result still has all of it. */
  readonly onOutput?: ((chunk: Buffer) => void) | undefined;
  /**
   * Called with each piece of output as it comes, without a limit: no more than `STREAM_WINDOW_BYTES` come before what it
   * returned has resolved, and the command waits meanwhile. The result has no output then. Must not reject.
   */
  readonly consume?: ((chunk: Buffer) => void | Promise<void>) | undefined;
  /** The init keeps the result after it was received, among its last ones: it can be attached to again. */
  readonly keep?: boolean | undefined;
  /** Aborting kills the command's process tree; the result then says `cancelled`. */
  readonly signal?: AbortSignal | undefined;
}

export type AttachOptions = Pick<ExecOptions, 'onOutput' | 'signal'>;

export interface ExecResult {
  /** Standard output and standard error in the order in which they were written; bytes, not text. */
  readonly output: Buffer;
  /** Bytes written in all, those that were dropped included. */
  readonly outputBytes: number;
  readonly truncated: boolean;
  /** The kernel's word: the exit code, or 128 + the signal's number. Never made up: if unknown, exec rejects. */
  readonly exitCode: number;
  /** The number of the signal that ended the command, or null when it exited. */
  readonly signal: number | null;
  readonly timedOut: boolean;
  readonly cancelled: boolean;
  /** From fork to the command's end, by the init's monotonic clock. */
  readonly durationMs: number;
}

/** An exec that the init of a computer knows: running, or finished with a result that nobody received or that is kept. */
export interface KnownExec {
  readonly id: string;
  /** Also when it has ended and somebody is receiving its result. */
  readonly running: boolean;
  /** Its result is kept after it was received. */
  readonly kept: boolean;
}
