// The error that a frame's meta carries.
import { fromWireError, ServiceError, wireError } from '@switchyard/contracts';

export function readError(meta: string): ServiceError {
  const parsed = wireError.safeParse(JSON.parse(meta));
  return parsed.success
    ? fromWireError(parsed.data)
    : new ServiceError('internal_error', 'an unreadable error came over the bus');
}
