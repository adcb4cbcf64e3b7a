// Starts a computer for the first time, with progress: one line of JSON for each step, the computer last.
import type { CallHandler } from '@switchyard/bus';
import { fromZodError, HOST_OPERATIONS } from '@switchyard/contracts';
import { createComputer } from '../lifecycle/transitions.ts';
import { type OperationDeps, showComputer } from './requests.ts';

export function streamCreation({ computers, limits }: OperationDeps): CallHandler {
  return async (call) => {
    const parsed = HOST_OPERATIONS.create.request.safeParse(call.head);
    if (!parsed.success) throw fromZodError(parsed.error);
    const computer = await computers.findNew(parsed.data);
    const record = await createComputer(computer, {
      limited: parsed.data.limited,
      signal: call.signal,
      // Progress messages are small and rare, so they need no flow control.
      onProgress: (progress) => void call.write(Buffer.from(`${JSON.stringify(progress)}\n`)),
    });
    call.end(showComputer(record, limits));
  };
}
