import { type Bucket, type Bus, request, requestHost } from '@switchyard/bus';
import {
  COMMAND_BYTES_MAX,
  COMPUTER_BODY_BYTES_MAX,
  type ComputerRecord,
  computerObject,
  computerOptions,
  createComputerRequest,
  deletedComputer,
  execRequest,
  execResult,
  HOST_CREATE_TIMEOUT_MS,
  ID_PATTERN,
  listOf,
  ServiceError,
  uploadRequest,
  uploadResult,
} from '@switchyard/contracts';
import { z } from 'zod';
import { jsonRoute, type Route } from '../http/route.ts';

const TAG = 'Computers';
const params = z.object({ id: z.string().describe('Id of the computer') });
/** What starts or waits for a container or a command may take long; the agents keep the time of commands. */
const LIFECYCLE_TIMEOUT_MS = 300_000;
/** Longer than control waits for a host, so that it is control that knows how a creation ended. */
const CREATE_TIMEOUT_MS = HOST_CREATE_TIMEOUT_MS + 30_000;
const WHILE_IT_TAKES = Number.POSITIVE_INFINITY;

export interface ComputerRoutesOptions {
  bus: Bus;
  computers: Bucket<ComputerRecord>;
  /** False: this installation has no Docker engine. */
  enabled: boolean;
}

export function computerRoutes({ bus, computers, enabled }: ComputerRoutesOptions): Route[] {
  const requireEnabled = () => {
    if (!enabled)
      throw new ServiceError(
        'no_capacity',
        'computers are off here: no Docker engine is connected (SWITCHYARD_COMPUTERS)',
      );
  };
  /** The host of an org's computer; another org's is as unknown as one that never was. */
  const hostOf = async (org: string, id: string): Promise<string> => {
    requireEnabled();
    const entry = ID_PATTERN.test(id) ? await computers.get(`${org}.${id}`) : null;
    if (!entry) throw new ServiceError('computer_not_found', `there is no computer ${id}`);
    return entry.value.host;
  };
  const lifecycle = (verb: 'start' | 'stop', summary: string, description: string) =>
    jsonRoute(
      {
        method: 'POST',
        path: `/v1/computers/{id}/${verb}`,
        permission: 'computers:write',
        tag: TAG,
        summary,
        request: { params },
        computerParam: 'id',
        response: { status: 200, description, body: computerObject },
        errors: [
          'computer_not_found',
          'computer_busy',
          'no_capacity',
          'computer_failed',
          'service_unavailable',
        ],
      },
      async ({ key, params: { id }, requestId }) => {
        const host = await hostOf(key.org, id);
        return requestHost(
          bus,
          host,
          verb,
          { id, org: key.org },
          { timeoutMs: LIFECYCLE_TIMEOUT_MS, requestId },
        );
      },
    );
  return [
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/computers/options',
        permission: 'computers:read',
        tag: TAG,
        summary: 'Sizes, limits, images and prices',
        request: {},
        response: { status: 200, description: 'The options', body: computerOptions },
        errors: ['service_unavailable'],
      },
      () => request(bus, 'computers.options', {}),
    ),
    jsonRoute(
      {
        method: 'POST',
        path: '/v1/computers',
        permission: 'computers:write',
        tag: TAG,
        summary: 'Create a computer; it starts at once, and is billed by the minute',
        bodyBytesMax: COMPUTER_BODY_BYTES_MAX,
        request: { body: createComputerRequest },
        repeatable: false,
        response: { status: 201, description: 'The computer, running', body: computerObject },
        errors: [
          'invalid_json',
          'invalid_request',
          'unknown_field',
          'image_unavailable',
          'computer_limit_reached',
          'no_capacity',
          'computer_failed',
          'service_unavailable',
        ],
      },
      ({ key, body, requestId }) => {
        requireEnabled();
        return request(
          bus,
          'computers.create',
          { org: key.org, key_id: key.id, body },
          { timeoutMs: CREATE_TIMEOUT_MS, requestId },
        );
      },
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/computers',
        permission: 'computers:read',
        tag: TAG,
        summary: 'List the computers of your org',
        request: {},
        response: { status: 200, description: 'The computers', body: listOf(computerObject) },
        errors: ['service_unavailable'],
      },
      ({ key }) => request(bus, 'computers.list', { org: key.org, key_id: key.id }),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/computers/{id}',
        permission: 'computers:read',
        tag: TAG,
        summary: 'One computer',
        request: { params },
        computerParam: 'id',
        response: { status: 200, description: 'The computer', body: computerObject },
        errors: ['computer_not_found', 'service_unavailable'],
      },
      ({ key, params: { id } }) => request(bus, 'computers.get', { org: key.org, key_id: key.id, id }),
    ),
    jsonRoute(
      {
        method: 'DELETE',
        path: '/v1/computers/{id}',
        permission: 'computers:write',
        tag: TAG,
        summary: 'Delete a computer and its files for good',
        request: { params },
        computerParam: 'id',
        response: { status: 200, description: 'The computer is gone', body: deletedComputer },
        errors: ['computer_not_found', 'computer_busy', 'computer_failed', 'service_unavailable'],
      },
      ({ key, params: { id }, requestId }) =>
        request(
          bus,
          'computers.delete',
          { org: key.org, key_id: key.id, id },
          { timeoutMs: LIFECYCLE_TIMEOUT_MS, requestId },
        ),
    ),
    lifecycle('start', 'Start a stopped computer; billing begins', 'The computer, running'),
    lifecycle('stop', 'Stop a running computer; files are kept, billing stops', 'The computer, stopped'),
    jsonRoute(
      {
        method: 'POST',
        path: '/v1/computers/{id}/exec',
        permission: 'computers:write',
        tag: TAG,
        summary: 'Run a shell command and wait for it; one that fails is a 200 with its exit code',
        bodyBytesMax: COMPUTER_BODY_BYTES_MAX,
        request: { params, body: execRequest },
        computerParam: 'id',
        repeatable: false,
        response: { status: 200, description: 'What it wrote, and its exit code', body: execResult },
        errors: [
          'invalid_json',
          'invalid_request',
          'unknown_field',
          'computer_not_found',
          'computer_not_running',
          'command_timed_out',
          'computer_failed',
          'no_capacity',
          'service_unavailable',
        ],
      },
      async ({ key, params: { id }, body, signal, requestId }) => {
        if (Buffer.byteLength(body.command) > COMMAND_BYTES_MAX)
          throw new ServiceError('invalid_request', `command: at most ${COMMAND_BYTES_MAX} bytes`, {
            param: 'command',
          });
        const host = await hostOf(key.org, id);
        return requestHost(
          bus,
          host,
          'exec',
          { id, org: key.org, body },
          { timeoutMs: WHILE_IT_TAKES, signal, requestId },
        );
      },
    ),
    jsonRoute(
      {
        method: 'POST',
        path: '/v1/computers/{id}/upload',
        permission: 'computers:write',
        tag: TAG,
        summary: 'Copy a stored file into /workspace of a running computer',
        request: { params, body: uploadRequest },
        computerParam: 'id',
        repeatable: false,
        response: { status: 200, description: 'Where the file is now', body: uploadResult },
        errors: [
          'invalid_json',
          'invalid_request',
          'unknown_field',
          'computer_not_found',
          'file_not_found',
          'computer_not_running',
          'computer_failed',
          'no_capacity',
          'service_unavailable',
        ],
      },
      ({ key, params: { id }, body, signal, requestId }) => {
        requireEnabled();
        return request(
          bus,
          'computers.upload',
          { org: key.org, key_id: key.id, id, body },
          { timeoutMs: WHILE_IT_TAKES, signal, requestId },
        );
      },
    ),
  ];
}
