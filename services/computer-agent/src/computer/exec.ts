// Options and result of a command in a computer.

/**
 * Output bytes of a streamed exec that its consumer has not finished with. The init buffers as much again, plus the
 * cap.
 */
export const STREAM_WINDOW_BYTES = 256 * 1024;

export interface ExecOptions {
  /**
   * Identifies the exec within its computer: 1 to 64 characters, for example a request id. The init keeps the result
   * under this id until it is received, so that an agent can `attach` after a restart. An id that the init still
   * knows is not run again: the call attaches to the first exec.
   */
  readonly id: string;
  /** Run by bash if the image has it, otherwise by sh. The contract (`execRequest`) checks it, `cwd` and `env`. */
  readonly command: string;
  /** After this time the whole process tree is killed and the result has `timedOut`. */
  readonly timeoutMs: number;
  /** Bytes of output to keep, at most 16 MiB. Further output is dropped and the result has `truncated`. */
  readonly outputBytesMax: number;
  /** Absolute, or relative to /workspace. Default: /workspace. */
  readonly cwd?: string | undefined;
  /** Added to the environment of the image. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Standard input. Default: /dev/null. */
  readonly stdin?: Uint8Array | undefined;
  /**
   * Called with each piece of output, without a limit on the total. At most `STREAM_WINDOW_BYTES` are delivered
   * before the returned promise resolves; the command waits meanwhile. The result then has no output. Must not
   * reject.
   */
  readonly consume?: ((chunk: Buffer) => void | Promise<void>) | undefined;
  /**
   * The init keeps the result after it is received, among its most recent ones, so that it can be attached to again.
   */
  readonly keep?: boolean | undefined;
  /** Aborting kills the command's process tree; the result then has `cancelled`. */
  readonly signal?: AbortSignal | undefined;
}

export type AttachOptions = Pick<ExecOptions, 'signal'>;

export interface ExecResult {
  /** Standard output and standard error as bytes, in the order written. */
  readonly output: Buffer;
  /** Total bytes written, including dropped ones. */
  readonly outputBytes: number;
  readonly truncated: boolean;
  /** Exit code from the kernel, or 128 + signal number. If it is unknown, exec rejects. */
  readonly exitCode: number;
  readonly timedOut: boolean;
  readonly cancelled: boolean;
  /** From the fork to the end of the command, by the init's monotonic clock. */
  readonly durationMs: number;
}

/** An exec that the init knows: running, or finished with a result that is kept or was not received. */
export interface KnownExec {
  readonly id: string;
  /** Also true when the exec has ended and its result is being received. */
  readonly running: boolean;
  /** The result is kept after it is received. */
  readonly kept: boolean;
}
