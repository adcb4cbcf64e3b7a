// Runs a command in a running computer and streams its output as the answer's body, at the caller's pace.
import type { CallHandler, IncomingCall } from '@switchyard/bus';
import {
  execRequest,
  fromZodError,
  type HostExecEnd,
  hostExecEnd,
  hostExecHead,
  ServiceError,
} from '@switchyard/contracts';
import { checkTimeout } from '../lifecycle/command.ts';
import { exec } from '../lifecycle/use-run.ts';
import type { OperationDeps } from './requests.ts';

const NOTHING = Buffer.alloc(0);

export function streamExecInComputer({ computers, limits }: OperationDeps): CallHandler {
  return async (call) => {
    const { request_id: execId, org, id } = hostExecHead.parse(call.head);
    const parsed = execRequest.safeParse(JSON.parse((await call.readBody()).toString('utf8')));
    if (!parsed.success) throw fromZodError(parsed.error);
    checkTimeout(parsed.data, limits.options.command_timeout_seconds);
    const computer = await computers.find(org, id);
    try {
      const result = await exec(computer, parsed.data, {
        execId,
        signal: call.signal,
        onStart: () => void call.write(NOTHING), // send the head at once; the init may still refuse the command
        consume: sendTo(call),
      });
      call.end(hostExecEnd.parse(result) satisfies HostExecEnd);
    } catch (error) {
      await call.drained(); // an error would overtake buffered output
      throw withoutOutput(error);
    }
  };
}

/** Discards output once the caller has disconnected, so that a continuing command is not blocked. */
function sendTo(call: IncomingCall): (chunk: Buffer) => void | Promise<void> {
  let draining: Promise<void> | null = null; // one wait for all buffered output
  return (chunk) => {
    if (call.write(chunk)) return;
    draining ??= call.drained().finally(() => {
      draining = null;
    });
    return draining;
  };
}

/** The output was already streamed. */
function withoutOutput(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'command_timed_out') return error;
  const { stdout: _sent, ...details } = error.details ?? {};
  return new ServiceError(error.code, error.message, { details, cause: error });
}
