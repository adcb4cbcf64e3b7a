// A computer: the request that creates it, what it is, and how it is shown. Its record is in computer-record.ts.
import { z } from 'zod';
import { tags } from './caller-context.ts';
import { creationProgress } from './creation-progress.ts';
import { dollars } from './dollars.ts';
import { idOf } from './ids.ts';
import { listOf } from './lists.ts';

export const STANDARD_IMAGE = 'switchyard/sandbox-computer:latest';
const COMPUTER_NAME_LENGTH_MAX = 100;
/** Bytes of JSON around a computer request's payload (escapes included). */
export const COMPUTER_BODY_BYTES_MAX = 8 * 1024 * 1024;

const COMPUTER_STATUSES = ['creating', 'running', 'stopped', 'unreachable', 'error'] as const;
const STOP_REASONS = [
  'user',
  'idle',
  'max_lifetime',
  'out_of_memory',
  'exited',
  'host_lost',
  'insufficient_funds',
] as const;

export const computerStatus = z.enum(COMPUTER_STATUSES);
export const stopReason = z.enum(STOP_REASONS);
export type ComputerStatus = z.infer<typeof computerStatus>;
export type StopReason = z.infer<typeof stopReason>;

export const createComputerRequest = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(COMPUTER_NAME_LENGTH_MAX)
      .optional()
      .describe('Your label; default: a generated name'),
    image: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('An image of a public registry; commands need bash or sh in it. Default: the standard image'),
    cpu: z
      .number()
      .optional()
      .describe('Cores, within the range and in the steps of GET /v1/computers/options; default there too'),
    memory_mb: z
      .number()
      .optional()
      .describe('MiB of memory, within the range and in the steps of the options; default there too'),
    idle_stop_minutes: z
      .int()
      .min(1)
      .optional()
      .describe(
        'Minutes without a command, a file access or an open connection after which it stops by itself: at most `max_lifetime_minutes` of the options; default there too',
      ),
    metadata: tags
      .optional()
      .describe('Tags of its minutes in Usage and Logs, besides those of the request and its key'),
    stream: z
      .boolean()
      .optional()
      .describe('true: sends progress as server-sent events; the last event is the computer')
      .meta({ default: false }),
  })
  .meta({ examples: [{ name: 'build', cpu: 1, memory_mb: 1024 }, {}] });
export type CreateComputerRequest = z.infer<typeof createComputerRequest>;

/**
 * What a computer is: the fields of its request, with the defaults filled in. The record keeps all of them, so that a
 * new optional field of the request reaches the agent without another declaration.
 */
export const computerSpec = createComputerRequest.omit({ stream: true }).extend({
  name: z.string(),
  image: z.string(),
  cpu: z.number(),
  memory_mb: z.int(),
  disk_gb: z.number(),
});
export type ComputerSpec = z.infer<typeof computerSpec>;

export const computerObject = z.object({
  id: idOf('computer').describe('Id of the computer'),
  object: z.literal('computer').describe('Always computer'),
  name: z.string().describe('Its label'),
  status: computerStatus.describe(
    'creating: its image is being pulled; unreachable: its host is silent; error: see `error`',
  ),
  image: z.string().describe('The image that it started from'),
  cpu: z.number().describe('Cores'),
  memory_mb: z.int().describe('MiB of memory'),
  idle_stop_minutes: z.int().describe('Idle minutes after which it stops by itself'),
  metadata: tags.describe('Its tags: those given, and those of the request and the key that made it'),
  created_at: z.iso.datetime().describe('When it was created'),
  minutes: z.number().describe('Minutes charged so far'),
  cost: dollars.describe('US dollars charged so far'),
  stop_reason: stopReason.nullable().describe('Why it stopped; null while it runs'),
  idle_since: z.iso
    .datetime()
    .nullable()
    .describe(
      'Since when no command has been running, up to 6 s behind; null while one runs or the computer is stopped',
    ),
  stops_at: z.iso
    .datetime()
    .nullable()
    .describe('When it will stop by itself if nothing happens; null when stopped'),
  error: z.string().nullable().describe('Why, when status is `error`'),
  progress: creationProgress.optional().describe('Progress while status is `creating`; otherwise absent'),
});
export type ComputerObject = z.infer<typeof computerObject>;
export const computerList = listOf(computerObject);

export const deletedComputer = z.object({
  id: z.string().describe('Id of the deleted computer'),
  object: z.literal('computer').describe('Always computer'),
  deleted: z.literal(true).describe('Always true'),
});
