// Request ids, unique over all edges and restarts and cheap to make: a random part per process, then a counter.
import { randomBytes } from 'node:crypto';

export function requestIds(): () => string {
  const boot = randomBytes(9).toString('base64url').replaceAll('-', 'A').replaceAll('_', 'B');
  let count = 0;
  return () => `req_${boot}${(count++).toString(36).padStart(4, '0')}`;
}
