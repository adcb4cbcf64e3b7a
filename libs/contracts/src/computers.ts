// Computers: HTTP bodies, the record in the KV bucket `computers`, and the heartbeat of a host.
import { z } from 'zod';
import { boundedMap } from './bounded.ts';
import { creationProgress } from './creation-progress.ts';
import { dollars } from './dollars.ts';
import { idOf } from './ids.ts';
import { listOf } from './lists.ts';

export const STANDARD_IMAGE = 'switchyard/sandbox-computer:latest';
export const COMMAND_BYTES_MAX = 65_536;
export const COMMAND_TIMEOUT_S_DEFAULT = 300;
export const COMPUTER_NAME_LENGTH_MAX = 100;
export const ENV_ENTRIES_MAX = 256;
export const STDIN_BYTES_MAX = 1024 * 1024;
/** Bytes of JSON around a computer request's payload (escapes included). */
export const COMPUTER_BODY_BYTES_MAX = 8 * 1024 * 1024;

export const COMPUTER_STATUSES = ['creating', 'running', 'stopped', 'unreachable', 'error'] as const;
export const STOP_REASONS = [
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
      .describe('A label of yours; default: a generated name'),
    image: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('An image of a public registry, which must contain sleep; default: the standard image'),
    cpu: z
      .number()
      .optional()
      .describe('Cores, within the range and in the steps of GET /v1/computers/options; default there too'),
    memory_mb: z
      .number()
      .optional()
      .describe('MiB of memory, within the range and in the steps of the options; default there too'),
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
 * further optional field of the request reaches the agent without another declaration.
 */
const computerSpec = createComputerRequest.omit({ stream: true }).extend({
  name: z.string(),
  image: z.string(),
  cpu: z.number(),
  memory_mb: z.int(),
  disk_gb: z.number(),
});
export type ComputerSpec = z.infer<typeof computerSpec>;

/** The kernel ends an argument at its first NUL character. */
const hasNoNul = (text: string) => !text.includes('\0');
const NUL_MESSAGE = 'holds a NUL character';
const bytesWithin = (bytesMax: number) => (text: string) => Buffer.byteLength(text) <= bytesMax;

/** The only place that checks the sizes of a command. The maximum of `timeout` depends on the host's settings. */
export const execRequest = z
  .strictObject({
    command: z
      .string()
      .min(1)
      .refine(bytesWithin(COMMAND_BYTES_MAX), `is over ${COMMAND_BYTES_MAX} bytes`)
      .refine(hasNoNul, NUL_MESSAGE)
      .meta({
        description: `A shell command, at most ${COMMAND_BYTES_MAX} bytes`,
        maxLength: COMMAND_BYTES_MAX,
      }),
    timeout: z.int().min(1).optional().meta({
      description: 'Seconds after which the command is stopped, at most as GET /v1/computers/options says',
      default: COMMAND_TIMEOUT_S_DEFAULT,
    }),
    cwd: z
      .string()
      .min(1)
      .max(4_096)
      .refine(hasNoNul, NUL_MESSAGE)
      .optional()
      .describe('The folder it runs in; default /workspace'),
    env: boundedMap(z.string(), { max: ENV_ENTRIES_MAX, key: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/) })
      .optional()
      .describe(`Further variables of its environment, at most ${ENV_ENTRIES_MAX}`),
    stdin: z
      .string()
      .refine(bytesWithin(STDIN_BYTES_MAX), `is over ${STDIN_BYTES_MAX} bytes`)
      .optional()
      .describe(`What it reads, at most ${STDIN_BYTES_MAX} bytes; default: nothing`),
    stream: z
      .boolean()
      .optional()
      .describe('true: its output comes as server-sent events while it runs, without a limit')
      .meta({ default: false }),
    on_disconnect: z.enum(['kill', 'continue']).optional().meta({
      description:
        'What happens to the command when the client disconnects. continue: it runs on, and GET …/execs/{exec_id} has its result',
      default: 'kill',
    }),
  })
  .refine(({ env }) => Object.values(env ?? {}).every(hasNoNul), { path: ['env'], message: NUL_MESSAGE })
  .meta({ examples: [{ command: 'python3 -c "print(6 * 7)"', timeout: 60 }] });
export type ExecRequest = z.infer<typeof execRequest>;

export const execResult = z.object({
  stdout: z.string().describe('What it wrote, standard error merged in'),
  stderr: z.literal('').describe('Always empty'),
  exit_code: z.int().describe('0: it succeeded'),
  duration_ms: z.int().describe('Milliseconds that it ran'),
  truncated: z
    .literal(true)
    .optional()
    .describe('Present and true when the output was over the limit and cut'),
});
export type ExecResult = z.infer<typeof execResult>;

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
  progress: creationProgress
    .optional()
    .describe('How far it is, while status is `creating`; else it is not there'),
});
export type ComputerObject = z.infer<typeof computerObject>;
export const computerList = listOf(computerObject);

export const deletedComputer = z.object({
  id: z.string().describe('Id of the computer that is gone'),
  object: z.literal('computer').describe('Always computer'),
  deleted: z.literal(true).describe('Always true'),
});

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
  idle_stop_minutes: z.int().describe('Minutes without a command after which a computer stops by itself'),
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

/** Rates of a computer's minute as decimal strings; frozen in the record at creation and in every event. */
export const computerRates = z.object({
  per_minute: z.string(),
  per_vcpu_minute: z.string(),
  per_gb_memory_minute: z.string(),
  per_gb_disk_minute: z.string(),
});
export type ComputerRates = z.infer<typeof computerRates>;

/** The run of a computer that is on: recorded before its container starts, so that no minute can be lost. */
export const computerRun = z.object({
  /** 1 for the first start, then one more each time: part of the ids of the minutes' events. */
  number: z.int().positive(),
  started_at: z.iso.datetime(),
  /** Minutes of this run whose event is published already. */
  minutes_charged: z.int().nonnegative(),
  /** Billable milliseconds of the run up to `anchored_at`: where an agent that restarts goes on counting. */
  anchored_ms: z.int().nonnegative(),
  anchored_at: z.iso.datetime(),
});
export type ComputerRun = z.infer<typeof computerRun>;

/**
 * `creating`: the slot is taken, the container may be starting; hidden from clients except while its image is pulled.
 * `starting`, `stopping`: the container and its run are recorded, the change is not proven yet; a restarted agent takes
 * the first back and finishes the second. `deleting`: the container and files are going; the record goes last.
 */
export const COMPUTER_STATES = [
  'creating',
  'starting',
  'running',
  'stopping',
  'stopped',
  'deleting',
  'error',
] as const;

/**
 * KV bucket `computers`, key `<org>.<id>`. control creates it; then the agent of its host is its only writer, except
 * where control declares the host lost. Writes that guard a rule use the revision.
 */
export const computerRecord = z.object({
  id: idOf('computer'),
  org: idOf('org'),
  /** The key that created it: its minutes are charged to this key. */
  key_id: idOf('key'),
  host: idOf('host'),
  ...computerSpec.shape,
  rates: computerRates,
  created_at: z.iso.datetime(),
  state: z.enum(COMPUTER_STATES),
  stop_reason: stopReason.nullable(),
  /** Docker's id of the container that this computer owns, once it was adopted. */
  container: z.string().nullable(),
  run: computerRun.nullable(),
  /** Runs so far; the next one is one more. */
  runs: z.int().nonnegative(),
  /** Minutes and nano-dollars of all runs, whose events are published. */
  minutes: z.int().nonnegative(),
  cost_nano: z.string(),
  /** End of the last command, or the start if there was none; null while a command runs or the computer is off. */
  last_activity_at: z.iso.datetime().nullable(),
  error: z.string().nullable(),
  /** How far its creation is, once its image is being pulled; null before that, after it, and where nothing is pulled. */
  progress: creationProgress.nullable().default(null),
});
export type ComputerRecord = z.infer<typeof computerRecord>;

export function computerKey(org: string, id: string): string {
  return `${org}.${id}`;
}

/**
 * KV bucket `computer-slots`, key = org: id of each computer that the org has or is about to have, and since when.
 * Changed by compare-and-set only: it is what makes the cap of computers exact.
 */
export const computerSlots = z.record(z.string(), z.iso.datetime());
export type ComputerSlots = z.infer<typeof computerSlots>;

/** A host that has been silent for this long is taken for gone: its computers are `unreachable`, unbilled from then. */
export const HOST_SILENT_MS_MAX = 60_000;

/** KV bucket `hosts`, key = host id: an agent's heartbeat, each second; it disappears when the agent is silent. */
export const hostHeartbeat = z.object({
  id: idOf('host'),
  at: z.iso.datetime(),
  /** Cores and MiB that computers on this host may reserve in all, and have reserved. */
  cpu_total: z.number(),
  cpu_used: z.number(),
  memory_mb_total: z.number(),
  memory_mb_used: z.number(),
  computers: z.int(),
  /** MiB left on the fullest of the disks that computers are written to, and how many of them are not for new computers. */
  disk_mb_free: z.int().nullable().default(null),
  disk_mb_free_min: z.int().nullable().default(null),
  /** The standard image is there; otherwise `image_progress` says how far its building is. */
  image_ready: z.boolean(),
  image_progress: z.string().nullable(),
  /** Why this host takes no computers, in words for a caller; null: it takes them. */
  refuses: z.string().nullable(),
  cordoned: z.boolean(),
});
export type HostHeartbeat = z.infer<typeof hostHeartbeat>;

/**
 * A host that was silent for so long that its computers are `unreachable` and not charged.
 * @param beat its last one; null: none is known, which is the same
 */
export function isHostSilent(beat: Pick<HostHeartbeat, 'at'> | null, nowMs: number): boolean {
  return beat === null || nowMs - Date.parse(beat.at) > HOST_SILENT_MS_MAX;
}

/**
 * KV bucket `host-orders`, key = host id: what an operator wants of a host; no entry: nothing special. `cordon`: no new
 * computers, those there go on and may be started again. `drain`: its computers stop as well, files kept, and none starts.
 */
export const hostOrder = z.object({ order: z.enum(['cordon', 'drain']), at: z.iso.datetime() });
export type HostOrder = z.infer<typeof hostOrder>;
