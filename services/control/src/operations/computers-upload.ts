// Copies a stored file into a running computer. Control sends the bytes to the computer's host, which writes them; the
// host has no access to other files.

import type { OperationContext } from '@switchyard/bus';
import { openReply } from '@switchyard/bus';
import {
  type HostUploadHead,
  hostSubject,
  type OperationRequest,
  type OperationResponse,
  ServiceError,
  uploadResult,
} from '@switchyard/contracts';
import { type ComputerOperations, requireComputers } from '../computers/computer-operations.ts';
import { findComputer } from '../computers/records.ts';
import { fileContent } from '../files/file-content.ts';
import { type FileOperations, findFile } from '../files/file-operations.ts';

export function uploadToComputer(computers: ComputerOperations, files: FileOperations) {
  return async (
    { org, id, body }: OperationRequest<'computers.upload'>,
    { signal, requestId }: OperationContext,
  ): Promise<OperationResponse<'computers.upload'>> => {
    requireComputers(computers);
    const { value: computer } = await findComputer(computers.records, org, id);
    if (computer.state === 'stopped')
      throw new ServiceError('computer_not_running', 'The computer is stopped. Start it first.');
    const { value: file } = await findFile(files, org, body.file);
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
    const reply = await openReply(computers.bus, call, signal);
    return uploadResult.parse(await reply.end);
  };
}
