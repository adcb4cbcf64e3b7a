// Every setting of the agent. The only reader of the environment.
import { computerLimitsEnv } from '@switchyard/contracts';
import { commonConfig } from '@switchyard/service';
import { z } from 'zod';
import { DISK_POLICIES } from './computer/host-features.ts';

export const agentConfig = computerLimitsEnv.extend({
  ...commonConfig,
  /** Distinguishes agents that share a data folder on one machine. Stable across restarts. */
  SWITCHYARD_INSTANCE: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/)
    .default('computer-agent'),
  /** Started containers of the standard image that wait for a computer. */
  SWITCHYARD_WARM_POOL: z.coerce.number().int().min(0).max(64).default(2),
  /**
   * `build`: the standard image is built on this host when it is missing or its recipe has changed. `keep`: the
   * present image is used, and computers wait until there is one. For an agent in a container, which lacks the host's
   * apt and npm.
   */
  SWITCHYARD_COMPUTER_IMAGE: z.enum(['build', 'keep']).default('build'),
  /** `runc`, `runsc`, `kata` …; unset: the engine's default. */
  SWITCHYARD_COMPUTER_RUNTIME: z.string().optional(),
  /** Private IPv4 networks (CIDR, comma-separated) that computers may reach, and that may contain image registries. */
  SWITCHYARD_COMPUTER_NETWORKS: z
    .string()
    .default('')
    .transform((list) =>
      list
        .split(',')
        .map((network) => network.trim())
        .filter(Boolean),
    )
    .pipe(z.array(z.cidrv4())),
  /** Mbit/s that one computer may send, and that it may receive. Unset: no ceiling. */
  SWITCHYARD_COMPUTER_MBIT_MAX: z.coerce.number().min(1).max(10_000).optional(),
  /**
   * `required`: computers write only to disks of the paid size; a host that cannot mount disks takes no computers.
   * `auto`: such a host takes them, with folders, which only the host's disk limits.
   */
  SWITCHYARD_COMPUTER_DISKS: z.enum(DISK_POLICIES).default('required'),
  /** Cores (and MiB) promised to computers for each one that the host has: most computers idle most of the time. */
  SWITCHYARD_CPU_OVERCOMMIT: z.coerce.number().min(0.1).max(64).default(16),
  SWITCHYARD_MEMORY_OVERCOMMIT: z.coerce.number().min(0.1).max(16).default(4),
  /**
   * GB kept free on the host's disks: below it no new computer is taken. Computers' disks grow as they are written.
   */
  SWITCHYARD_HOST_DISK_GB_FREE_MIN: z.coerce.number().min(0).max(100_000).default(2),
  /** Maximum GB of a foreign image, unpacked. */
  SWITCHYARD_IMAGE_GB_MAX: z.coerce.number().min(0.001).max(1_000).default(10),
  /** Bytes of a command's output that are kept; the rest is cut and the result says `truncated`. */
  SWITCHYARD_OUTPUT_BYTES_MAX: z.coerce
    .number()
    .int()
    .min(1_024)
    .max(16 * 1024 * 1024)
    .default(1024 * 1024),
  /**
   * Effect of SIGTERM on the computers of this host. `keep`: they keep running and the next agent takes them over
   * (rolling restart). `stop`: they are stopped, files kept, for shutting down a whole stack.
   */
  SWITCHYARD_COMPUTERS_ON_SHUTDOWN: z.enum(['keep', 'stop']).default('keep'),
});
export type AgentConfig = z.infer<typeof agentConfig>;
