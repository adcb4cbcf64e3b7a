// Limits of a computer and the price of its minute: the platform's own settings, read from the environment by control
// (which checks requests and answers GET /v1/computers/options) and by every agent (which enforces them).
import { z } from 'zod';
import { COMMAND_TIMEOUT_S_DEFAULT } from './computer-execs.ts';
import type { ComputerRates } from './computer-record.ts';
import { type ComputerSpec, STANDARD_IMAGE } from './computers.ts';

const CPU_MIN = 0.25;
export const CPU_STEP = 0.25;
const CPU_DEFAULT = 1;
const MEMORY_MB_MIN = 512;
const MEMORY_MB_STEP = 256;
const MEMORY_MB_DEFAULT = 1_024;
export const MEMORY_MB_PER_GB = 1_024;
/** Time limit of a host for a creation, including 300 s to pull a foreign image. */
export const HOST_CREATE_TIMEOUT_MS = 330_000;

export const MINUTE_MS = 60_000;
const HOURS_8_IN_MINUTES = 480;
const DAY_IN_MINUTES = 1_440;
const DAY_IN_SECONDS = 86_400;
/** Fractions of a minute are for tests. */
const TIMED_STOP_MINUTES_MIN = 0.001;

const rate = (dollars: string) =>
  z
    .string()
    .regex(/^\d{1,6}(\.\d{1,18})?$/, 'must be a plain decimal')
    .default(dollars);

const cpuCeiling = z.coerce.number().min(CPU_MIN).max(256).multipleOf(CPU_STEP);
const memoryCeiling = z.coerce.number().int().min(MEMORY_MB_MIN).max(1_048_576).multipleOf(MEMORY_MB_STEP);

/** The settings in the environment, to be `extend`ed by the config of a service. */
export const computerLimitsEnv = z.object({
  /** Cores of the largest computer. */
  SWITCHYARD_CPU_MAX: cpuCeiling.default(4),
  /** MiB of the largest computer. */
  SWITCHYARD_MEMORY_MB_MAX: memoryCeiling.default(8_192),
  /** What a busy computer may use at no extra charge; never less than the largest computer. */
  SWITCHYARD_BURST_CPU: cpuCeiling.default(4),
  SWITCHYARD_BURST_MEMORY_MB: memoryCeiling.default(8_192),
  /** Minutes without a command after which a computer stops by itself. */
  SWITCHYARD_IDLE_STOP_MINUTES: z.coerce.number().min(TIMED_STOP_MINUTES_MIN).max(DAY_IN_MINUTES).default(2),
  /** Minutes from its start after which a computer stops by itself. */
  SWITCHYARD_MAX_LIFETIME_MINUTES: z.coerce
    .number()
    .min(TIMED_STOP_MINUTES_MIN)
    .max(HOURS_8_IN_MINUTES)
    .default(HOURS_8_IN_MINUTES),
  /** The longest `timeout` of a command, seconds. */
  SWITCHYARD_COMMAND_TIMEOUT_SECONDS: z.coerce
    .number()
    .int()
    .min(COMMAND_TIMEOUT_S_DEFAULT)
    .max(DAY_IN_SECONDS)
    .default(3_600),
  /** Computers of one org, stopped ones included. */
  SWITCHYARD_MAX_COMPUTERS: z.coerce.number().int().min(0).max(1_000).default(10),
  /** Dollars per minute: for any computer, and for each core, GiB of memory and GB of disk. */
  SWITCHYARD_PRICE_PER_MINUTE: rate('0.0001'),
  SWITCHYARD_PRICE_PER_VCPU_MINUTE: rate('0.0008'),
  SWITCHYARD_PRICE_PER_GB_MEMORY_MINUTE: rate('0.0001'),
  SWITCHYARD_PRICE_PER_GB_DISK_MINUTE: rate('0.000002'),
  /** GB of /workspace that a minute's price counts. */
  SWITCHYARD_DISK_GB: z.coerce.number().int().min(0).max(1_024).default(10),
});

const range = z.object({
  min: z.number().describe('The smallest'),
  max: z.number().describe('The largest'),
  step: z.number().describe('Values are multiples of this'),
  default: z.number().describe('Value when none is requested'),
});

/** The answer of GET /v1/computers/options. */
export const computerOptions = z.object({
  cpu: range.describe('Cores'),
  memory_mb: range.describe('MiB of memory'),
  burst: z
    .object({ cpu: z.number().describe('Cores'), memory_mb: z.int().describe('MiB') })
    .describe('What a busy computer may use at no extra charge'),
  images: z
    .array(
      z.object({
        id: z.string().describe('Value for `image`'),
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
      per_minute: z.number().describe('Dollars per minute of any computer'),
      per_vcpu_minute: z.number().describe('Dollars per core and minute'),
      per_gb_memory_minute: z.number().describe('Dollars per GiB of memory and minute'),
      per_gb_disk_minute: z.number().describe('Dollars per GB of disk and minute'),
      disk_gb: z.number().describe('GB of disk that are counted'),
      currency: z.string().describe('Always USD'),
    })
    .describe('Price of a running minute; stopped time costs nothing'),
});
export type ComputerOptions = z.infer<typeof computerOptions>;

/** When a computer stops by itself. */
export interface TimedStops {
  readonly idleStopMs: number;
  readonly maxLifetimeMs: number;
}

export interface ComputerLimits extends TimedStops {
  /** A fraction of a minute, set for tests, is rounded up. */
  readonly options: Omit<ComputerOptions, 'pricing'>;
  readonly diskGb: number;
  readonly rates: ComputerRates;
}

export function toComputerLimits(env: z.infer<typeof computerLimitsEnv>): ComputerLimits {
  const cpuMax = env.SWITCHYARD_CPU_MAX;
  const memoryMbMax = env.SWITCHYARD_MEMORY_MB_MAX;
  return {
    options: {
      cpu: { min: CPU_MIN, max: cpuMax, step: CPU_STEP, default: Math.min(CPU_DEFAULT, cpuMax) },
      memory_mb: {
        min: MEMORY_MB_MIN,
        max: memoryMbMax,
        step: MEMORY_MB_STEP,
        default: Math.min(MEMORY_MB_DEFAULT, memoryMbMax),
      },
      burst: {
        cpu: Math.max(env.SWITCHYARD_BURST_CPU, cpuMax),
        memory_mb: Math.max(env.SWITCHYARD_BURST_MEMORY_MB, memoryMbMax),
      },
      images: [{ id: STANDARD_IMAGE, name: 'Standard: Debian 12, Node.js, Python, Chromium, desktop' }],
      idle_stop_minutes: Math.ceil(env.SWITCHYARD_IDLE_STOP_MINUTES),
      max_lifetime_minutes: Math.ceil(env.SWITCHYARD_MAX_LIFETIME_MINUTES),
      command_timeout_seconds: env.SWITCHYARD_COMMAND_TIMEOUT_SECONDS,
      max_computers: env.SWITCHYARD_MAX_COMPUTERS,
    },
    idleStopMs: Math.round(env.SWITCHYARD_IDLE_STOP_MINUTES * MINUTE_MS),
    maxLifetimeMs: Math.round(env.SWITCHYARD_MAX_LIFETIME_MINUTES * MINUTE_MS),
    diskGb: env.SWITCHYARD_DISK_GB,
    rates: {
      per_minute: env.SWITCHYARD_PRICE_PER_MINUTE,
      per_vcpu_minute: env.SWITCHYARD_PRICE_PER_VCPU_MINUTE,
      per_gb_memory_minute: env.SWITCHYARD_PRICE_PER_GB_MEMORY_MINUTE,
      per_gb_disk_minute: env.SWITCHYARD_PRICE_PER_GB_DISK_MINUTE,
    },
  };
}

/** The limits of one computer: its own idle time, where its request gave one. */
export function timedStopsOf(
  { idle_stop_minutes }: ComputerSpec,
  { idleStopMs, maxLifetimeMs }: TimedStops,
): TimedStops {
  if (idle_stop_minutes === undefined) return { idleStopMs, maxLifetimeMs };
  return { idleStopMs: idle_stop_minutes * MINUTE_MS, maxLifetimeMs };
}

export function toComputerOptions({ options, diskGb, rates }: ComputerLimits): ComputerOptions {
  return {
    ...options,
    pricing: {
      per_minute: Number(rates.per_minute),
      per_vcpu_minute: Number(rates.per_vcpu_minute),
      per_gb_memory_minute: Number(rates.per_gb_memory_minute),
      per_gb_disk_minute: Number(rates.per_gb_disk_minute),
      disk_gb: diskGb,
      currency: 'USD',
    },
  };
}
