// Every setting of the agent. The only reader of the environment.
import { computerLimitsEnv } from '@switchyard/contracts';
import { commonConfig } from '@switchyard/service';
import { z } from 'zod';

export const agentConfig = computerLimitsEnv.extend({
  ...commonConfig,
  /** Tells several agents on one machine, with one data folder, from each other. Stable over restarts. */
  SWITCHYARD_INSTANCE: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/)
    .default('computer-agent'),
  /** Started containers of the standard image that wait for a computer to adopt them. */
  SWITCHYARD_WARM_POOL: z.coerce.number().int().min(0).max(64).default(2),
  /**
   * `build`: the standard image is built on this host when it is missing or its recipe has changed. `keep`: it is taken
   * as it is, and computers wait until it is there; for an agent in a container, which has not the host's apt and npm.
   */
  SWITCHYARD_COMPUTER_IMAGE: z.enum(['build', 'keep']).default('build'),
  /** `runc`, `runsc`, `kata` …; unset: the engine's default. */
  SWITCHYARD_COMPUTER_RUNTIME: z.string().optional(),
  /** Private networks (CIDR, comma-separated) that computers may reach all the same, and registries of images in them. */
  SWITCHYARD_COMPUTER_NETWORKS: z
    .string()
    .default('')
    .transform((list) => list.split(',').filter((network) => network !== '')),
  /**
   * `auto`: each computer's /workspace is a disk of its own, of the size that is paid for, where this host can mount one;
   * else a folder. `off`: folders, which nothing limits but the host's disk.
   */
  SWITCHYARD_COMPUTER_DISKS: z.enum(['auto', 'off']).default('auto'),
  /** Cores (and MiB) promised to computers for each one that the host has: most computers idle most of the time. */
  SWITCHYARD_CPU_OVERCOMMIT: z.coerce.number().min(0.1).max(64).default(16),
  SWITCHYARD_MEMORY_OVERCOMMIT: z.coerce.number().min(0.1).max(16).default(4),
  /** GB that stay free on the host's disks: below it no new computer is taken. Disks of computers grow as they are written. */
  SWITCHYARD_HOST_DISK_GB_FREE_MIN: z.coerce.number().min(0).max(100_000).default(2),
  /** GB of an image of a caller's choice, unpacked: a larger one is refused. */
  SWITCHYARD_IMAGE_GB_MAX: z.coerce.number().min(0.001).max(1_000).default(10),
  /** Bytes of a command's output that are kept; the rest is cut and the result says `truncated`. */
  SWITCHYARD_OUTPUT_BYTES_MAX: z.coerce
    .number()
    .int()
    .min(1_024)
    .max(16 * 1024 * 1024)
    .default(1024 * 1024),
  /**
   * What SIGTERM means for the computers of this host. `keep`: they run on and the next agent takes them over (a
   * rolling restart). `stop`: they are stopped, files kept, for whoever stops the whole machine's stack.
   */
  SWITCHYARD_COMPUTERS_ON_SHUTDOWN: z.enum(['keep', 'stop']).default('keep'),
});
export type AgentConfig = z.infer<typeof agentConfig>;
