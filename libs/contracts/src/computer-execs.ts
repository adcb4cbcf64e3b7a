// Commands in computers: request and result, the events of a streamed command, the state of a command that continues
// without a client, and the heads of requests to a host.
import { z } from 'zod';
import { boundedMap } from './bounded.ts';
import { errorCode, errorEvent } from './errors.ts';
import { listOf } from './lists.ts';

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
      description: 'Seconds after which the command is stopped; GET /v1/computers/options has the maximum',
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
      .describe(`More environment variables, at most ${ENV_ENTRIES_MAX}`),
    stdin: z
      .string()
      .refine(bytesWithin(STDIN_BYTES_MAX), `is over ${STDIN_BYTES_MAX} bytes`)
      .optional()
      .describe(
        `Its standard input as text, at most ${STDIN_BYTES_MAX} bytes; default: none. Write other bytes to a file first: PUT …/files`,
      ),
    stream: z
      .boolean()
      .optional()
      .describe('true: sends its output as server-sent events while it runs, without a limit')
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
  stdout: z
    .string()
    .describe(
      'Its output, standard error included. Bytes that are not UTF-8 become U+FFFD; `stream: true` sends them as base64',
    ),
  stderr: z.literal('').describe('Always empty'),
  exit_code: z
    .int()
    .describe(
      '0: it succeeded; 128 and the number of a signal that ended it: 143 also when its computer stops',
    ),
  duration_ms: z.int().describe('Milliseconds that it ran'),
  truncated: z
    .literal(true)
    .optional()
    .describe('Present and true when the output was over the limit and cut'),
});
export type ExecResult = z.infer<typeof execResult>;

export const execStartedEvent = z.object({
  type: z.literal('started'),
  exec_id: z.string().describe('Names the command: GET /v1/computers/{id}/execs/{exec_id}'),
});
export const execOutputEvent = z.object({
  type: z.literal('output'),
  data: z
    .string()
    .describe('Part of its output, standard error included: the bytes of all events make the whole'),
  encoding: z.enum(['utf-8', 'base64']).describe('base64: the bytes are not text'),
});
export const execExitEvent = z.object({
  type: z.literal('exit'),
  exit_code: execResult.shape.exit_code,
  duration_ms: execResult.shape.duration_ms,
  truncated: execResult.shape.truncated,
});

/** Server-sent events of `stream: true`, named by their type. Exactly one `exit` or `error` is sent, last. */
export const execEvent = z.discriminatedUnion('type', [
  execStartedEvent,
  execOutputEvent,
  execExitEvent,
  errorEvent,
]);
export type ExecEvent = z.infer<typeof execEvent>;

export const execObject = z.object({
  id: z.string().describe('The id of the request that started it (X-Request-Id)'),
  object: z.literal('exec').describe('Always exec'),
  status: z.enum(['running', 'finished']).describe('Whether its end is known'),
  result: execResult.nullable().describe('The start of its output, and its exit code; null: none yet'),
  error: z
    .object({
      code: errorCode.describe('As in POST …/exec'),
      message: z.string().describe('For people; it may change'),
      details: z.record(z.string(), z.unknown()).optional().describe('Depends on `code`'),
    })
    .nullable()
    .describe('Why it ended without a result, such as a timeout; else null'),
});
export type ExecObject = z.infer<typeof execObject>;

export const execSummary = execObject.pick({ id: true, object: true, status: true });
export const execList = listOf(execSummary);
export type ExecList = z.infer<typeof execList>;

/** Head of `computer-agent.v1.<hostId>.exec-stream`; its body is an `execRequest`, the answer's body the raw output. */
export const hostExecHead = z.object({ request_id: z.string(), org: z.string(), id: z.string() });
export type HostExecHead = z.infer<typeof hostExecHead>;

/** Meta at the end of such a call. */
export const hostExecEnd = execResult.pick({ exit_code: true, duration_ms: true, truncated: true });
export type HostExecEnd = z.infer<typeof hostExecEnd>;

/** Request of the host operation `exec`. `resume`: the command was sent before with this request id; get its result. */
export const hostExecRequest = z.object({
  id: z.string(),
  org: z.string(),
  body: execRequest,
  resume: z.literal(true).optional(),
});
export type HostExecRequest = z.infer<typeof hostExecRequest>;

/** Whether a command continues without its caller. */
export function outlivesCaller({ on_disconnect }: ExecRequest): boolean {
  return on_disconnect === 'continue';
}
