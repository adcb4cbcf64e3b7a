// The error that the caller gets when no upstream answered.
import { ServiceError } from '@switchyard/contracts';
import type { Failure } from '../makers/failure.ts';

/** `Retry-After` for the caller when the upstream gives no time. */
const RETRY_AFTER_S_DEFAULT = 1;

/** The caller's error after the last attempt has failed. */
export function toServiceError(failures: Failure[], details: Record<string, unknown>): ServiceError {
  const asked = failures.filter(({ kind }) => kind !== 'unsupported');
  const last = asked.at(-1);
  if (!last) {
    const [first] = failures as [Failure];
    return new ServiceError('invalid_request', first.message, { ...paramOf(first), details });
  }
  if (last.kind === 'rejected')
    return new ServiceError('upstream_rejected', last.message, { ...paramOf(last), details });
  const all = (kind: Failure['kind']) => asked.every((failure) => failure.kind === kind);
  if (all('too_long'))
    return new ServiceError('upstream_rejected', withAdvice(last, 'Shorten the request.'), { details });
  if (all('rate_limited')) {
    const waitsS = asked.map(({ retryAfterS }) => retryAfterS ?? RETRY_AFTER_S_DEFAULT);
    return rateLimited(Math.min(...waitsS), details);
  }
  const message = `No upstream could answer: ${withAdvice(last, 'Try again, or add models to fall back on.')}`;
  return new ServiceError(all('timeout') ? 'upstream_timeout' : 'upstream_error', message, { details });
}

function withAdvice({ message }: Failure, advice: string): string {
  return `${message.replace(/\.$/, '')}. ${advice}`;
}

function paramOf({ param }: Failure): { param?: string } {
  return param ? { param } : {};
}

/** A 429 for the caller with the time to retry after. */
export function rateLimited(soonestS: number, details: Record<string, unknown>): ServiceError {
  const retryAfterS = Math.max(RETRY_AFTER_S_DEFAULT, Math.ceil(soonestS));
  const message = `All upstreams of this model are rate limited. Try again in ${retryAfterS} seconds.`;
  return new ServiceError('rate_limited', message, { details, retryAfterS });
}
