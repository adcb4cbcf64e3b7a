// `computers.create`, told of as it goes: what the computer's host says of it passes on as it is.
import { type CallHandler, openReply, readRequest } from '@switchyard/bus';
import {
  type CreationHead,
  computerObject,
  HOST_CREATE_TIMEOUT_MS,
  hostCreationStreamSubject,
  OPERATIONS,
} from '@switchyard/contracts';
import type { ComputerOperations } from '../computers/computer-operations.ts';
import { createComputer } from './computers-create.ts';

export function streamCreation(on: ComputerOperations): CallHandler {
  const create = createComputer(on);
  return async (call) => {
    const request = await readRequest(call, OPERATIONS['computers.create'].request);
    const computer = await create(request, call, async (host, beginning, signal) => {
      const subject = hostCreationStreamSubject(host);
      const timeoutMs = HOST_CREATE_TIMEOUT_MS;
      const reply = await openReply(on.bus, { subject, head: beginning, timeoutMs }, signal);
      call.setHead({ computer_id: beginning.id } satisfies CreationHead);
      for await (const lines of reply.body) call.write(lines); // few and small: no need to wait for a reader
      return computerObject.parse(await reply.end);
    });
    call.end(computer);
  };
}
