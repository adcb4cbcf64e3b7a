// `computers.create`, told of as it goes: what the computer's host says of it passes on as it is.
import { type CallHandler, openReply } from '@switchyard/bus';
import {
  type CreationHead,
  computerObject,
  fromZodError,
  HOST_CREATE_TIMEOUT_MS,
  hostCreationStreamSubject,
  OPERATIONS,
  ServiceError,
} from '@switchyard/contracts';
import type { ComputerOperations } from '../computers/computer-operations.ts';
import { createComputer } from './computers-create.ts';

export function streamCreation(on: ComputerOperations): CallHandler {
  const create = createComputer(on);
  return async (call) => {
    const parsed = OPERATIONS['computers.create'].request.safeParse(parseJson(await call.readBody()));
    if (!parsed.success) throw fromZodError(parsed.error);
    const computer = await create(parsed.data, call, async (host, beginning, signal) => {
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

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new ServiceError('invalid_json', 'the request is not JSON', { cause });
  }
}
