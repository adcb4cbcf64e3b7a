import { type Bus, request, requestHost } from '@switchyard/bus';
import {
  computerMetrics,
  computerObject,
  computerOptions,
  HOST_CREATE_TIMEOUT_MS,
  uploadRequest,
  uploadResult,
} from '@switchyard/contracts';
import type { Spending } from '../auth/spending.ts';
import { type FindHost, requireComputers } from '../computers/find-host.ts';
import { jsonRoute, type Route } from '../http/route.ts';
import { COMPUTERS_TAG, computerParams, RUNNING_COMPUTER_ERRORS } from './computer-route.ts';
import { operationRoutes } from './operation-route.ts';

/** Stopping or removing a container may take long. */
const END_TIMEOUT_MS = 300_000;
/** A start may have to pull the image, like a creation. */
const TIMEOUT_MS = { start: HOST_CREATE_TIMEOUT_MS, stop: END_TIMEOUT_MS } as const;
const NO_TIMEOUT = Number.POSITIVE_INFINITY;

interface ComputerRoutesDeps {
  readonly bus: Bus;
  readonly findHost: FindHost;
  readonly spending: Spending;
  /** False when this installation has no Docker engine. */
  readonly enabled: boolean;
}

export function computerRoutes(deps: ComputerRoutesDeps): Route[] {
  const read = operationRoutes(deps.bus, { tag: COMPUTERS_TAG, permission: 'computers:read' });
  const change = operationRoutes(deps.bus, { tag: COMPUTERS_TAG, permission: 'computers:write' });
  return [
    optionsRoute(deps),
    read('computers.list', {
      method: 'GET',
      path: '/v1/computers',
      operationId: 'listComputers',
      summary: 'List the computers of your org',
      answer: 'The computers',
      errors: ['no_capacity'],
    }),
    read('computers.get', {
      method: 'GET',
      path: '/v1/computers/{id}',
      operationId: 'getComputer',
      summary: 'One computer',
      params: computerParams,
      computerParam: 'id',
      answer: 'The computer',
      errors: ['computer_not_found', 'no_capacity'],
    }),
    change('computers.delete', {
      method: 'DELETE',
      path: '/v1/computers/{id}',
      operationId: 'deleteComputer',
      summary: 'Delete a computer and its files',
      params: computerParams,
      computerParam: 'id',
      timeoutMs: END_TIMEOUT_MS,
      answer: 'The computer is gone',
      errors: ['computer_not_found', 'computer_busy', 'computer_failed', 'no_capacity'],
    }),
    metricsRoute(deps),
    lifecycleRoute(deps, 'start', 'Start a stopped computer; billing begins', 'The computer, running'),
    lifecycleRoute(
      deps,
      'stop',
      'Stop a running computer; /workspace is kept, billing stops',
      'The computer, stopped',
    ),
    uploadRoute(deps),
  ];
}

function optionsRoute({ bus, spending }: ComputerRoutesDeps): Route {
  return jsonRoute(
    {
      method: 'GET',
      path: '/v1/computers/options',
      operationId: 'getComputerOptions',
      permission: 'computers:read',
      tag: COMPUTERS_TAG,
      summary: 'Sizes, limits, images and prices',
      request: {},
      response: { status: 200, description: 'The options', body: computerOptions },
      errors: ['no_capacity'],
    },
    async ({ key }) => request(bus, 'computers.options', await spending.markupOf(key)),
  );
}

function lifecycleRoute(
  { bus, findHost, spending }: ComputerRoutesDeps,
  verb: 'start' | 'stop',
  summary: string,
  description: string,
): Route {
  return jsonRoute(
    {
      method: 'POST',
      path: `/v1/computers/{id}/${verb}`,
      operationId: `${verb}Computer`,
      permission: 'computers:write',
      ...(verb === 'start' ? { charges: 'later' as const } : {}),
      tag: COMPUTERS_TAG,
      summary,
      request: { params: computerParams },
      computerParam: 'id',
      response: { status: 200, description, body: computerObject },
      errors: [
        ...(verb === 'start' ? (['image_unavailable', 'computer_not_running'] as const) : []),
        'computer_not_found',
        'computer_busy',
        'no_capacity',
        'computer_failed',
        'service_unavailable',
      ],
    },
    async ({ key, params: { id }, requestId }) => {
      const host = await findHost(key.org, id);
      // Never `limited: false`: minutes are charged to the key that created the computer, which may be limited.
      const limited = verb === 'start' && (await spending.termsOf(key)).limited ? { limited: true } : {};
      return requestHost(
        bus,
        host,
        verb,
        { id, org: key.org, ...limited },
        { timeoutMs: TIMEOUT_MS[verb], requestId },
      );
    },
  );
}

function metricsRoute({ bus, findHost }: ComputerRoutesDeps): Route {
  return jsonRoute(
    {
      method: 'GET',
      path: '/v1/computers/{id}/metrics',
      operationId: 'getComputerMetrics',
      permission: 'computers:read',
      tag: COMPUTERS_TAG,
      summary: 'What a running computer uses: processor, memory, disk, network, processes',
      description: 'As its kernel counts it now. Reading metrics is no activity: it keeps no computer on.',
      request: { params: computerParams },
      computerParam: 'id',
      response: { status: 200, description: 'The figures', body: computerMetrics },
      errors: RUNNING_COMPUTER_ERRORS,
    },
    async ({ key: { org }, params: { id } }) =>
      requestHost(bus, await findHost(org, id), 'metrics', { id, org }),
  );
}

function uploadRoute({ bus, enabled }: ComputerRoutesDeps): Route {
  return jsonRoute(
    {
      method: 'POST',
      path: '/v1/computers/{id}/upload',
      operationId: 'uploadToComputer',
      permission: 'computers:write',
      tag: COMPUTERS_TAG,
      summary: 'Copy a stored file into /workspace of a running computer',
      request: { params: computerParams, body: uploadRequest },
      computerParam: 'id',
      repeatable: false,
      response: { status: 200, description: 'Where the file is now', body: uploadResult },
      errors: [...RUNNING_COMPUTER_ERRORS, 'file_not_found', 'service_unavailable'],
    },
    ({ key, params: { id }, body, signal, requestId }) => {
      requireComputers(enabled);
      return request(
        bus,
        'computers.upload',
        { org: key.org, key_id: key.id, id, body },
        { timeoutMs: NO_TIMEOUT, signal, requestId },
      );
    },
  );
}
