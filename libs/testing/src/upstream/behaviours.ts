// Misbehaviour on demand: the request's model name selects it, in parts joined by `+`, such as
// `gpt-4o-mini+latency-200+gap-20` or `gpt-4o-mini+cut-3`. The part before the first `+` is only a name.

export interface Behaviour {
  /** Milliseconds before the status line. */
  latencyMs: number;
  /** Milliseconds between two chunks of a stream. */
  gapMs: number;
  /** The connection is destroyed after so many chunks (of an answer in one piece: after half of it). */
  cutAfterChunks: number | null;
  /** After so many chunks nothing more comes, and the connection stays open. */
  stallAfterChunks: number | null;
  /** An error status, or one of the named faults of `errors.json`, in place of an answer. */
  fault: string | null;
  /** Server-sent events end in `\r\n\r\n`. */
  crlf: boolean;
  /** No `usage` in the answer, even when requested. */
  noUsage: boolean;
  /** `usage` reports cached tokens. */
  cachedUsage: boolean;
  /** An error event after so many chunks of a stream that began with 200; then the stream ends without `[DONE]`. */
  errorAfterChunks: number | null;
  /** MiB of a stream's content, in chunks of 64 KiB. */
  megabytes: number | null;
}

const ORDERLY: Behaviour = {
  latencyMs: 0,
  gapMs: 0,
  cutAfterChunks: null,
  stallAfterChunks: null,
  fault: null,
  crlf: false,
  noUsage: false,
  cachedUsage: false,
  errorAfterChunks: null,
  megabytes: null,
};

const PARTS: Readonly<Record<string, (value: string) => Partial<Behaviour>>> = {
  latency: (value) => ({ latencyMs: Number(value) }),
  gap: (value) => ({ gapMs: Number(value) }),
  cut: (value) => ({ cutAfterChunks: Number(value) }),
  stall: (value) => ({ stallAfterChunks: Number(value) }),
  fault: (value) => ({ fault: value }),
  crlf: () => ({ crlf: true }),
  nousage: () => ({ noUsage: true }),
  cached: () => ({ cachedUsage: true }),
  error: (value) => ({ errorAfterChunks: Number(value) }),
  megabytes: (value) => ({ megabytes: Number(value) }),
};

/** @throws Error for an unknown part: a test with a typo must fail. */
export function behaviourOf(model: string): Behaviour {
  const behaviour = { ...ORDERLY };
  for (const part of model.split('+').slice(1)) {
    const [name = '', value = ''] = part.split('-');
    const read = PARTS[name];
    if (!read) throw new Error(`no such behaviour of the test upstream: ${part}`);
    Object.assign(behaviour, read(value));
  }
  return behaviour;
}
