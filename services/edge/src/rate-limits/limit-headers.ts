// Headers about the limits of the caller: the IETF draft's RateLimit fields, and OpenAI's names. If
// several limits of a kind hold, the one with the least left is shown.

/** The kinds that have headers. */
export type WindowKind = 'requests' | 'tokens';

export interface WindowState {
  readonly kind: WindowKind;
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until more is left. */
  readonly nextMs: number;
  /** Milliseconds until all of it is left. */
  readonly emptyMs: number;
}

const WINDOW_S = 60;
const POLICY = 'ratelimit-policy';
const STATE = 'ratelimit';

/** Whether a header is one of these, which are true only at the moment of their answer. */
export function isLimitHeader(name: string): boolean {
  return name === STATE || name === POLICY || name.startsWith('x-ratelimit-');
}

/** Names in lower case. */
export function limitHeaders(states: readonly WindowState[]): Record<string, string> {
  const shown = [...Map.groupBy(states, ({ kind }) => kind).values()].flatMap((same) =>
    same.toSorted((a, b) => a.remaining - b.remaining).slice(0, 1),
  );
  if (shown.length === 0) return {};
  const ofOpenAi = shown.flatMap(({ kind, limit, remaining, emptyMs }) => [
    [`x-ratelimit-limit-${kind}`, String(limit)],
    [`x-ratelimit-remaining-${kind}`, String(remaining)],
    [`x-ratelimit-reset-${kind}`, `${toSeconds(emptyMs)}s`],
  ]);
  return {
    [POLICY]: shown.map(({ kind, limit }) => `"${kind}";q=${limit};w=${WINDOW_S}`).join(', '),
    [STATE]: shown
      .map(({ kind, remaining, nextMs }) => `"${kind}";r=${remaining};t=${toSeconds(nextMs)}`)
      .join(', '),
    ...Object.fromEntries(ofOpenAi),
  };
}

/** Whole seconds, rounded up. */
export function toSeconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}
