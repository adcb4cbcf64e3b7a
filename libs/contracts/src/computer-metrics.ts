// Current resource use of a computer, as its kernel counts it.
import { z } from 'zod';

export const computerMetrics = z.object({
  object: z.literal('computer_metrics').describe('Always computer_metrics'),
  measured_at: z.iso.datetime().describe('When'),
  cpu: z.object({
    seconds: z.number().describe('CPU seconds used since its start'),
    cores_used: z.number().describe('Cores in use, averaged over 0.1 s'),
    cores_max: z
      .number()
      .nullable()
      .describe('Cores that it may use now, fewer while others compute too; null: all of its host'),
  }),
  memory: z.object({
    bytes: z.int().describe('In use, without what the kernel can drop at once (inactive file cache)'),
    bytes_max: z
      .int()
      .nullable()
      .describe('Above it, the largest process is killed; null: no limit of its own'),
  }),
  disk: z.object({
    workspace_bytes: z.int().nullable().describe('Bytes used by /workspace; null: counting took too long'),
    workspace_bytes_max: z.int().nullable().describe('Bytes that it may take; null: no limit of its own'),
    measured_at: z.iso.datetime().describe('When it was counted; a count may be up to 30 s old'),
  }),
  network: z.object({
    received_bytes: z.int().describe('Since its start'),
    sent_bytes: z.int().describe('Since its start'),
  }),
  processes: z.object({
    count: z.int().describe('Processes and threads, those of its init included'),
    count_max: z.int().nullable().describe('The maximum; null: no limit of its own'),
  }),
});
export type ComputerMetrics = z.infer<typeof computerMetrics>;
