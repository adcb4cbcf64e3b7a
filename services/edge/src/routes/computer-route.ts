// Shared by all routes below /v1/computers/{id}.
import type { ErrorCode } from '@switchyard/contracts';
import { z } from 'zod';

export const COMPUTERS_TAG = 'Computers';

export const computerParams = z.object({ id: z.string().describe('Id of the computer') });

/** For requests that a running computer answers. */
export const RUNNING_COMPUTER_ERRORS = [
  'computer_not_found',
  'computer_not_running',
  'computer_busy',
  'computer_failed',
  'no_capacity',
] as const satisfies readonly ErrorCode[];
