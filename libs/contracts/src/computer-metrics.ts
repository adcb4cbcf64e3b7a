// What a computer uses at this moment, as its kernel counts it.
import { z } from 'zod';

export const computerMetrics = z.object({
  object: z.literal('computer_metrics').describe('Always computer_metrics'),
  measured_at: z.iso.datetime().describe('When'),
  cpu: z.object({
    seconds: z.number().describe('Seconds of one core that it has used since its start'),
    cores_used: z.number().describe('Cores in use, over a tenth of a second'),
    cores_max: z
      .number()
      .nullable()
      .describe('Cores that it may use now, less while it computes beside others; null: all of its host'),
  }),
  memory: z.object({
    bytes: z.int().describe('In use, without what the kernel can drop at once (inactive file cache)'),
    bytes_max: z
      .int()
      .nullable()
      .describe('Over this its largest process is ended; null: no limit of its own'),
  }),
  disk: z.object({
    workspace_bytes: z
      .int()
      .nullable()
      .describe('Bytes that /workspace takes; null: it was too much to count'),
    workspace_bytes_max: z.int().nullable().describe('Bytes that it may take; null: no limit of its own'),
    measured_at: z.iso.datetime().describe('When: it is counted again after half a minute at the earliest'),
  }),
  network: z.object({
    received_bytes: z.int().describe('Since its start'),
    sent_bytes: z.int().describe('Since its start'),
  }),
  processes: z.object({
    count: z.int().describe('Processes and threads, those of its init included'),
    count_max: z.int().nullable().describe('As many as it may have; null: no limit of its own'),
  }),
});
export type ComputerMetrics = z.infer<typeof computerMetrics>;
