// Commands in computers: the events of a streamed command, the state of a command that continues without a client, and
// the heads of requests to a host.
import { z } from 'zod';
import { errorBody, errorCode } from './errors.ts';
import { type ExecRequest, execRequest, execResult } from './exec-request.ts';
import { listOf } from './lists.ts';

/** Server-sent events of `stream: true`, named by their type. Exactly one `exit` or `error` comes, last. */
export const execEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('started'),
    exec_id: z.string().describe('Names the command: GET /v1/computers/{id}/execs/{exec_id}'),
  }),
  z.object({
    type: z.literal('output'),
    data: z
      .string()
      .describe('What it wrote, standard error merged in: the bytes of all events make the output'),
    encoding: z.enum(['utf-8', 'base64']).describe('base64: these bytes are no text'),
  }),
  z.object({
    type: z.literal('exit'),
    exit_code: execResult.shape.exit_code,
    duration_ms: execResult.shape.duration_ms,
    truncated: execResult.shape.truncated,
  }),
  z.object({ type: z.literal('error'), error: errorBody.shape.error }),
]);
export type ExecEvent = z.infer<typeof execEvent>;

export const execObject = z.object({
  id: z.string().describe('The id of the request that started it (X-Request-Id)'),
  object: z.literal('exec').describe('Always exec'),
  status: z.enum(['running', 'finished']).describe('Whether its end is known'),
  result: execResult.nullable().describe('What it wrote, the first of it, and its exit code; null: none yet'),
  error: z
    .object({
      code: errorCode.describe('As of POST …/exec'),
      message: z.string().describe('For people; it may change'),
      details: z.record(z.string(), z.unknown()).optional().describe('More, by the code'),
    })
    .nullable()
    .describe('Why it has no result, where it ended without one: its timeout, for instance'),
});
export type ExecObject = z.infer<typeof execObject>;

export const execSummary = execObject.pick({ id: true, object: true, status: true });
export const execList = listOf(execSummary);
export type ExecList = z.infer<typeof execList>;

/** Head of `computer-agent.v1.<hostId>.exec-stream`; its body is an `execRequest`, the answer's body the raw output. */
export const hostExecHead = z.object({ request_id: z.string(), org: z.string(), id: z.string() });
export type HostExecHead = z.infer<typeof hostExecHead>;

/** The end's meta of such a call. */
export const hostExecEnd = execResult.pick({ exit_code: true, duration_ms: true, truncated: true });
export type HostExecEnd = z.infer<typeof hostExecEnd>;

/** What the host operation `exec` takes. `resume`: the command was asked for before under this request id; only its result is wanted. */
export const hostExecRequest = z.object({
  id: z.string(),
  org: z.string(),
  body: execRequest,
  resume: z.literal(true).optional(),
});
export type HostExecRequest = z.infer<typeof hostExecRequest>;

/** Whether a command goes on when its caller goes away. */
export function outlivesCaller({ on_disconnect }: ExecRequest): boolean {
  return on_disconnect === 'continue';
}
