// The error in a frame's meta.
import { fromWireError, ServiceError, wireError } from '@switchyard/contracts';

export function readError(meta: string): ServiceError {
  const parsed = wireError.safeParse(JSON.parse(meta));
  return parsed.success
    ? fromWireError(parsed.data)
    : new ServiceError('internal_error', 'A service sent an unreadable error.');
}
