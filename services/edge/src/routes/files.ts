import { type Bus, openReply } from '@switchyard/bus';
import {
  encodeFileStoreTrailer,
  FILE_STORE_SUBJECT,
  type FileObject,
  type FileStoreHead,
  fileObject,
  type KeyRecord,
  uploadForm,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OpenRelays } from '../auth/open-relays.ts';
import { whileKeyHolds } from '../auth/while-key-holds.ts';
import { type ArrivingFile, FileForm, UPLOAD_BODY_BYTES_MAX } from '../files/file-form.ts';
import { sendContent } from '../files/send-content.ts';
import { check } from '../http/read-body.ts';
import { clientGone } from '../http/request-over.ts';
import { CONTENT_RESPONSE, type Route, rawRoute } from '../http/route.ts';
import { operationRoutes } from './operation-route.ts';

const TAG = 'Files';
const params = z.object({ id: z.string().describe('Id of the file') });

interface FileRoutesDeps {
  readonly bus: Bus;
  /** Open transfers by key; they may take long, and end with their key. */
  readonly open: OpenRelays;
  readonly clock: Clock;
}

export function fileRoutes(deps: FileRoutesDeps): Route[] {
  const read = operationRoutes(deps.bus, { tag: TAG, permission: 'storage:read' });
  const write = operationRoutes(deps.bus, { tag: TAG, permission: 'storage:write' });
  return [
    rawRoute(
      {
        method: 'POST',
        path: '/v1/files',
        operationId: 'createFile',
        permission: 'storage:write',
        tag: TAG,
        summary: 'Store a file',
        description:
          'One file of at most 512 MB, stored as it arrives, as a whole or not at all. Stored files count against the quota of the org.',
        bodyBytesMax: UPLOAD_BODY_BYTES_MAX,
        request: { form: uploadForm },
        repeatable: false,
        response: { status: 201, description: 'The file', body: fileObject },
        errors: ['invalid_multipart', 'unknown_field', 'storage_quota_exceeded', 'storage_full'],
      },
      async (request, reply, key) => {
        const gone = clientGone(request, reply);
        const file = await whileKeyHolds(deps.open, key, gone, (caller, signal) =>
          upload(deps, caller, request, signal),
        );
        reply.code(201).header('x-request-id', request.id).send(file);
      },
    ),
    read('files.list', {
      method: 'GET',
      path: '/v1/files',
      operationId: 'listFiles',
      summary: 'List the files of your org, newest first',
      answer: 'A page of files',
    }),
    read('files.get', {
      method: 'GET',
      path: '/v1/files/{id}',
      operationId: 'getFile',
      summary: 'One file: its name, type, length and digest',
      params,
      answer: 'The file',
      errors: ['file_not_found'],
    }),
    rawRoute(
      {
        method: 'GET',
        path: '/v1/files/{id}/content',
        operationId: 'getFileContent',
        permission: 'storage:read',
        tag: TAG,
        summary: 'The bytes of a file',
        description:
          'Always sent as an attachment; with `Range` the requested part, as 206; with `If-None-Match` and its `ETag` 304.',
        request: { params },
        response: CONTENT_RESPONSE,
        errors: ['file_not_found', 'range_not_satisfiable'],
      },
      (request, reply, key) => {
        const { id } = check(params, request.params);
        const gone = clientGone(request, reply);
        return whileKeyHolds(deps.open, key, gone, (caller, signal) =>
          sendContent(deps.bus, { caller, id, signal }, request, reply),
        );
      },
    ),
    write('files.delete', {
      method: 'DELETE',
      path: '/v1/files/{id}',
      operationId: 'deleteFile',
      summary: 'Delete a file',
      params,
      answer: 'The file is gone',
      errors: ['file_not_found'],
    }),
  ];
}

async function upload(
  { bus, clock }: FileRoutesDeps,
  key: KeyRecord,
  request: FastifyRequest,
  signal: AbortSignal,
): Promise<FileObject> {
  const form = new FileForm(request.raw, clock);
  try {
    const file = await form.read();
    const { filename, mediaType, bytesMin } = file;
    const head: FileStoreHead = {
      request_id: request.id,
      org: key.org,
      key_id: key.id,
      filename,
      media_type: mediaType,
      bytes_min: bytesMin,
    };
    const stored = await openReply(
      bus,
      { subject: FILE_STORE_SUBJECT, head, body: withTrailer(file) },
      signal,
    );
    return fileObject.parse(await stored.end);
  } catch (error) {
    form.discard();
    throw error;
  }
}

async function* withTrailer({ content, trailer }: ArrivingFile): AsyncGenerator<Uint8Array, void, undefined> {
  yield* content;
  yield encodeFileStoreTrailer(trailer());
}
