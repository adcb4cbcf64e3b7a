// Runs a command in a running computer; its output is the answer's body, byte for byte and at the caller's pace.
import type { CallHandler, IncomingCall } from '@switchyard/bus';
import {
  type ComputerLimits,
  execRequest,
  fromZodError,
  type HostExecEnd,
  hostExecEnd,
  hostExecHead,
  ServiceError,
} from '@switchyard/contracts';
import { checkCommand } from '../lifecycle/command.ts';
import type { Computers } from '../lifecycle/computers.ts';

const NOTHING = Buffer.alloc(0);

export interface ExecStreamOptions {
  readonly computers: Computers;
  readonly limits: ComputerLimits;
}

export function streamExecInComputer({ computers, limits }: ExecStreamOptions): CallHandler {
  return async (call) => {
    const { request_id: execId, org, id } = hostExecHead.parse(call.head);
    const parsed = execRequest.safeParse(JSON.parse((await call.readBody()).toString('utf8')));
    if (!parsed.success) throw fromZodError(parsed.error);
    checkCommand(parsed.data, limits.commandTimeoutS);
    const computer = await computers.find(org, id);
    try {
      const result = await computer.exec(execId, parsed.data, call.signal, {
        onStart: () => void call.write(NOTHING), // the head goes at once: it says that the command was taken
        consume: sendTo(call),
      });
      call.end(hostExecEnd.parse(result) satisfies HostExecEnd);
    } catch (error) {
      await call.drained(); // an error overtakes what waits for the caller
      throw withoutOutput(error);
    }
  };
}

/** Once the caller has gone there is nobody to wait for: a command that continues is not held up. */
function sendTo(call: IncomingCall): (chunk: Buffer) => void | Promise<void> {
  let draining: Promise<void> | null = null; // one wait for all that is on its way
  return (chunk) => {
    if (call.write(chunk)) return;
    draining ??= call.drained().finally(() => {
      draining = null;
    });
    return draining;
  };
}

/** The output has gone out already. */
function withoutOutput(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'command_timed_out') return error;
  const { stdout: _sent, ...details } = error.details ?? {};
  return new ServiceError(error.code, error.message, { details, cause: error });
}
