// The first start of a computer, told of as it goes: a line of JSON for each step, and the computer at the end.
import type { CallHandler } from '@switchyard/bus';
import { fromZodError, HOST_OPERATIONS } from '@switchyard/contracts';
import type { Computers } from '../lifecycle/computers.ts';
import type { ShowComputer } from './show-computer.ts';

export function streamCreation({
  computers,
  show,
}: {
  computers: Computers;
  show: ShowComputer;
}): CallHandler {
  return async (call) => {
    const parsed = HOST_OPERATIONS.create.request.safeParse(call.head);
    if (!parsed.success) throw fromZodError(parsed.error);
    const computer = await computers.findNew(parsed.data);
    const record = await computer.create(parsed.data.limited, call.signal, (progress) => {
      call.write(Buffer.from(`${JSON.stringify(progress)}\n`)); // small and seldom: no need to wait for a reader
    });
    call.end(show(record));
  };
}
