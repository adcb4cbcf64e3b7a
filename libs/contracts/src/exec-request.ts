// A command in a computer: its request and its result.
import { z } from 'zod';
import { boundedMap } from './bounded.ts';

export const COMMAND_BYTES_MAX = 65_536;
export const COMMAND_TIMEOUT_S_DEFAULT = 300;
export const ENV_ENTRIES_MAX = 256;
export const STDIN_BYTES_MAX = 1024 * 1024;

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
