// Operations on computers, from their records; computers-create.ts creates one.
import { type Handlers, openReply } from '@switchyard/bus';
import {
  type HostUploadHead,
  hostSubject,
  isShown,
  pageFrom,
  ServiceError,
  toComputerOptions,
  uploadResult,
} from '@switchyard/contracts';
import { markUp } from '@switchyard/money';
import { type ComputerOperations, requireComputers, showComputer } from '../computers/computer-operations.ts';
import { findComputer } from '../computers/records.ts';
import { removeComputer } from '../computers/removal.ts';
import { fileContent } from '../files/file-content.ts';
import { type FileOperations, findFile } from '../files/file-operations.ts';
import { createComputer } from './computers-create.ts';

export function computerHandlers(deps: ComputerOperations, files: FileOperations) {
  return {
    /** The platform's limits, and the prices of the caller. They may change, so clients read them here. */
    'computers.options': async ({ markup_percent }) => {
      requireComputers(deps);
      return toComputerOptions({ ...deps.limits, rates: markUp(deps.limits.rates, markup_percent) });
    },

    'computers.create': createComputer(deps),

    /** All computers of the org, newest first. The cap keeps the list short, so it has one page unless a limit is given. */
    'computers.list': async ({ org, query }) => {
      requireComputers(deps);
      const records = (await deps.records.ofOrg(org)).filter(isShown);
      records.sort((a, b) => b.created_at.localeCompare(a.created_at) || a.id.localeCompare(b.id));
      const data = records.map((record) => showComputer(deps, record));
      return pageFrom(data, query, ({ id }) => id);
    },

    /** One computer from its record. The request does not count as activity of the computer. */
    'computers.get': async ({ org, id }) => {
      requireComputers(deps);
      return showComputer(deps, await findComputer(deps.records, org, id));
    },

    'computers.delete': async ({ org, id }) => {
      requireComputers(deps);
      await removeComputer(deps, { org, id });
      return { id, object: 'computer', deleted: true };
    },

    /**
     * Copies a stored file into a running computer. Control sends the bytes to the computer's host, which writes them;
     * the host has no access to other files.
     */
    'computers.upload': async ({ org, id, body }, { signal, requestId }) => {
      requireComputers(deps);
      const computer = await findComputer(deps.records, org, id);
      if (computer.state === 'stopped')
        throw new ServiceError('computer_not_running', 'The computer is stopped. Start it first.');
      const { value: file } = await findFile(files, org, body.file, 'file');
      const head: HostUploadHead = {
        request_id: requestId,
        org,
        id,
        path: body.path ?? null,
        filename: file.filename,
        bytes: file.bytes,
        sha256: file.sha256,
      };
      const call = { subject: hostSubject(computer.host, 'upload'), head, body: fileContent(files, file) };
      const reply = await openReply(deps.bus, call, signal);
      return uploadResult.parse(await reply.end);
    },
  } satisfies Handlers;
}
