// `computers.create` as a stream: passes the progress messages of the computer's host on unchanged.
import { type CallHandler, openReply, readRequest } from '@switchyard/bus';
import {
  type CreationHead,
  computerObject,
  HOST_CREATE_TIMEOUT_MS,
  hostSubject,
  OPERATIONS,
} from '@switchyard/contracts';
import type { ComputerOperations } from '../computers/computer-operations.ts';
import { createComputer } from './computers-create.ts';

export function streamCreation(deps: ComputerOperations): CallHandler {
  const create = createComputer(deps);
  return async (call) => {
    const request = await readRequest(call, OPERATIONS['computers.create'].request);
    const computer = await create(request, call, async (host, beginning, signal) => {
      const subject = hostSubject(host, 'create-stream');
      const timeoutMs = HOST_CREATE_TIMEOUT_MS;
      const reply = await openReply(deps.bus, { subject, head: beginning, timeoutMs }, signal);
      call.setHead({ computer_id: beginning.id } satisfies CreationHead);
      for await (const lines of reply.body) call.write(lines); // few and small, so no backpressure is needed
      return computerObject.parse(await reply.end);
    });
    call.end(computer);
  };
}
