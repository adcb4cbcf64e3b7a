import { type Bus, request, requestHost } from '@switchyard/bus';
import {
  computerMetrics,
  computerObject,
  computerOptions,
  deletedComputer,
  listOf,
  uploadRequest,
  uploadResult,
} from '@switchyard/contracts';
import { z } from 'zod';
import type { Spending } from '../auth/spending.ts';
import { type FindHost, requireComputers } from '../computers/find-host.ts';
import { jsonRoute, type Route } from '../http/route.ts';

const TAG = 'Computers';
const params = z.object({ id: z.string().describe('Id of the computer') });
/** What starts or waits for a container may take long. */
const LIFECYCLE_TIMEOUT_MS = 300_000;
const WHILE_IT_TAKES = Number.POSITIVE_INFINITY;

export interface ComputerRoutesOptions {
  bus: Bus;
  findHost: FindHost;
  spending: Spending;
  /** False: this installation has no Docker engine. */
  enabled: boolean;
}

export function computerRoutes({ bus, findHost, spending, enabled }: ComputerRoutesOptions): Route[] {
  const requireEnabled = () => requireComputers(enabled);
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
          ...(verb === 'start' ? (['insufficient_funds', 'budget_exceeded'] as const) : []),
          'computer_not_found',
          'computer_busy',
          'no_capacity',
          'computer_failed',
          'service_unavailable',
        ],
      },
      async ({ key, params: { id }, requestId }) => {
        const host = await findHost(key.org, id);
        // Its minutes are charged to the key that created it, which may be limited where this one is not.
        const limited = spending.isLimited(key) ? { limited: true } : {};
        return requestHost(
          bus,
          host,
          verb,
          { id, org: key.org, ...(verb === 'start' ? limited : {}) },
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
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/computers/{id}/metrics',
        permission: 'computers:read',
        tag: TAG,
        summary: 'What a running computer uses: processor, memory, disk, network, processes',
        description:
          'As its kernel counts it at this moment. Looking is no activity: it keeps no computer on.',
        request: { params },
        computerParam: 'id',
        response: { status: 200, description: 'The figures', body: computerMetrics },
        errors: [
          'computer_not_found',
          'computer_not_running',
          'computer_busy',
          'computer_failed',
          'no_capacity',
        ],
      },
      async ({ key: { org }, params: { id } }) =>
        requestHost(bus, await findHost(org, id), 'metrics', { id, org }),
    ),
    lifecycle('start', 'Start a stopped computer; billing begins', 'The computer, running'),
    lifecycle('stop', 'Stop a running computer; files are kept, billing stops', 'The computer, stopped'),
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
          'computer_busy',
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
