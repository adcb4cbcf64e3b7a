import { request as ask, type Bus, openReply } from '@switchyard/bus';
import {
  deletedFile,
  FILE_STORE_SUBJECT,
  type FileObject,
  type FileStoreHead,
  fileList,
  fileObject,
  filesQuery,
  type KeyRecord,
  uploadForm,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OpenRelays } from '../auth/open-relays.ts';
import { whileKeyHolds } from '../auth/while-key-holds.ts';
import { FileForm, UPLOAD_BODY_BYTES_MAX } from '../files/file-form.ts';
import { sendContent } from '../files/send-content.ts';
import { clientGone } from '../http/client-gone.ts';
import { check } from '../http/read-body.ts';
import { jsonRoute, type Route, rawRoute } from '../http/route.ts';

const TAG = 'Files';
const params = z.object({ id: z.string().describe('Id of the file') });

export interface FileRoutesOptions {
  readonly bus: Bus;
  /** What is on under each key: files may take long, and end with their key. */
  readonly open: OpenRelays;
  readonly clock: Clock;
}

export function fileRoutes(on: FileRoutesOptions): Route[] {
  const { bus } = on;
  return [
    rawRoute(
      {
        method: 'POST',
        path: '/v1/files',
        permission: 'storage:write',
        tag: TAG,
        summary: 'Store a file',
        description:
          'One file of at most 512 MB, stored as it comes: it is there when the answer says so, whole, or not at all. What an org stores counts against its quota.',
        bodyBytesMax: UPLOAD_BODY_BYTES_MAX,
        request: { form: uploadForm },
        repeatable: false,
        response: { status: 201, description: 'The file', body: fileObject },
        errors: [
          'invalid_multipart',
          'invalid_request',
          'unknown_field',
          'body_timeout',
          'body_too_large',
          'storage_quota_exceeded',
          'unsupported_media_type',
          'service_unavailable',
          'storage_full',
        ],
      },
      async (request, reply, key) => {
        const gone = clientGone(request, reply);
        const file = await whileKeyHolds(on.open, key, gone, (caller, signal) =>
          upload(on, caller, request, signal),
        );
        reply.code(201).header('x-request-id', request.id).send(file);
      },
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/files',
        permission: 'storage:read',
        tag: TAG,
        summary: 'List the files of your org, newest first',
        request: { query: filesQuery },
        response: { status: 200, description: 'A page of files', body: fileList },
        errors: ['invalid_request', 'unknown_field', 'service_unavailable'],
      },
      ({ key, query }) => ask(bus, 'files.list', { org: key.org, key_id: key.id, query }),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/files/{id}',
        permission: 'storage:read',
        tag: TAG,
        summary: 'One file: its name, type, length and digest',
        request: { params },
        response: { status: 200, description: 'The file', body: fileObject },
        errors: ['file_not_found', 'service_unavailable'],
      },
      ({ key, params: { id } }) => ask(bus, 'files.get', { org: key.org, key_id: key.id, id }),
    ),
    rawRoute(
      {
        method: 'GET',
        path: '/v1/files/{id}/content',
        permission: 'storage:read',
        tag: TAG,
        summary: 'The bytes of a file',
        description: 'With `Range` the part of it that is asked for, as 206. Always as an attachment.',
        request: { params },
        response: { status: 200, description: 'The content', contentType: '*/*', inParts: true },
        errors: ['file_not_found', 'range_not_satisfiable', 'service_unavailable'],
      },
      (request, reply, key) => {
        const { id } = check(params, request.params);
        const gone = clientGone(request, reply);
        return whileKeyHolds(on.open, key, gone, (caller, signal) =>
          sendContent(on, { caller, id, signal }, request, reply),
        );
      },
    ),
    jsonRoute(
      {
        method: 'DELETE',
        path: '/v1/files/{id}',
        permission: 'storage:write',
        tag: TAG,
        summary: 'Delete a file for good',
        request: { params },
        response: { status: 200, description: 'The file is gone', body: deletedFile },
        errors: ['file_not_found', 'service_unavailable'],
      },
      ({ key, params: { id } }) => ask(bus, 'files.delete', { org: key.org, key_id: key.id, id }),
    ),
  ];
}

async function upload(
  { bus, clock }: FileRoutesOptions,
  key: KeyRecord,
  request: FastifyRequest,
  signal: AbortSignal,
): Promise<FileObject> {
  const form = new FileForm(request.raw, clock);
  try {
    const { filename, mediaType, bytesMin, content } = await form.read();
    const head: FileStoreHead = {
      request_id: request.id,
      org: key.org,
      key_id: key.id,
      filename,
      media_type: mediaType,
      bytes_min: bytesMin,
    };
    const stored = await openReply(bus, { subject: FILE_STORE_SUBJECT, head, body: content }, signal);
    return fileObject.parse(await stored.end);
  } catch (error) {
    form.discard();
    throw error;
  }
}
