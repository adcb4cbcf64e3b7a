// GET /v1/computers/options: the sizes and images that may be asked for, and what they cost.
import { z } from 'zod';

const range = z.object({
  min: z.number().describe('The smallest'),
  max: z.number().describe('The largest'),
  step: z.number().describe('It must be a multiple of this'),
  default: z.number().describe('What it is where none is asked for'),
});

export const computerOptions = z.object({
  cpu: range.describe('Cores'),
  memory_mb: range.describe('MiB of memory'),
  burst: z
    .object({ cpu: z.number().describe('Cores'), memory_mb: z.int().describe('MiB') })
    .describe('What a busy computer may use at no extra charge'),
  images: z
    .array(
      z.object({
        id: z.string().describe('What to give as `image`'),
        name: z.string().describe('What is in it'),
      }),
    )
    .describe('Images available without a pull'),
  idle_stop_minutes: z
    .int()
    .describe(
      'Idle minutes after which a computer stops by itself if its request sets none. A request may set 1 to `max_lifetime_minutes`',
    ),
  max_lifetime_minutes: z.int().describe('Minutes from its start after which it stops by itself'),
  command_timeout_seconds: z.int().describe('The longest `timeout` of a command'),
  max_computers: z.int().describe('Computers of one org, stopped ones included'),
  pricing: z
    .object({
      per_minute: z.number().describe('Dollars for a minute of any computer'),
      per_vcpu_minute: z.number().describe('Dollars for each core of it'),
      per_gb_memory_minute: z.number().describe('Dollars for each GiB of memory of it'),
      per_gb_disk_minute: z.number().describe('Dollars for each GB of disk of it'),
      disk_gb: z.number().describe('GB of disk that are counted'),
      currency: z.string().describe('Always USD'),
    })
    .describe('What a running minute costs; a stopped one costs nothing'),
});
export type ComputerOptions = z.infer<typeof computerOptions>;
