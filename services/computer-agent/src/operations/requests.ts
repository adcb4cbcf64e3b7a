// The operations of this host that are one request and one answer. Streams have files of their own.
import { randomUUID } from 'node:crypto';
import type { ServiceHost } from '@switchyard/bus';
import {
  type ComputerLimits,
  type ComputerObject,
  type ComputerRecord,
  toComputerObject,
} from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import { absolutePath, workspaceNames } from '../computer/workspace-path.ts';
import { checkTimeout } from '../lifecycle/command.ts';
import type { Computers } from '../lifecycle/computers.ts';
import { createComputer, deleteComputer, startComputer, stopComputer } from '../lifecycle/transitions.ts';
import { currentRun, exec, remove } from '../lifecycle/use-run.ts';

export interface OperationDeps {
  readonly computers: Computers;
  readonly limits: ComputerLimits;
}

export function serveRequests(
  service: Pick<ServiceHost, 'handleHost'>,
  hostId: string,
  { computers, limits }: OperationDeps,
): void {
  const show = (record: ComputerRecord) => showComputer(record, limits);
  service.handleHost(hostId, 'create', async (request, { signal }) => {
    const computer = await computers.findNew(request);
    return show(await createComputer(computer, { limited: request.limited, signal }));
  });
  service.handleHost(hostId, 'start', async ({ org, id, limited }) =>
    show(await startComputer(await computers.find(org, id), limited)),
  );
  service.handleHost(hostId, 'stop', async ({ org, id }) =>
    show(await stopComputer(await computers.find(org, id), 'user')),
  );
  service.handleHost(hostId, 'delete', async ({ org, id }) => {
    await deleteComputer(await computers.find(org, id));
    return { id, object: 'computer', deleted: true };
  });
  service.handleHost(hostId, 'exec', async ({ org, id, body, resume }, { signal, requestId }) => {
    checkTimeout(body, limits.options.command_timeout_seconds);
    const computer = await computers.find(org, id);
    return exec(computer, body, { execId: requestId ?? randomUUID(), signal, resume });
  });
  service.handleHost(hostId, 'exec-get', async ({ org, id, exec_id }) =>
    (await currentRun(await computers.find(org, id))).execResults.get(exec_id),
  );
  service.handleHost(hostId, 'exec-list', async ({ org, id }) =>
    (await currentRun(await computers.find(org, id))).execResults.list(),
  );
  service.handleHost(hostId, 'file-delete', async ({ org, id, path, recursive }, { signal, requestId }) => {
    const names = workspaceNames(path);
    const execId = requestId ?? randomUUID();
    await remove(await computers.find(org, id), names, { recursive, execId, signal });
    return { path: absolutePath(names), deleted: true };
  });
  service.handleHost(hostId, 'metrics', async ({ org, id }) => {
    const computer = await computers.find(org, id);
    const { meter } = await currentRun(computer);
    const measured = await meter.measure(computer.deps.host.workspaces.path(id), computer.now);
    return { object: 'computer_metrics', ...measured };
  });
}

/** A computer of this host as its owner sees it. */
export function showComputer(record: ComputerRecord, limits: ComputerLimits): ComputerObject {
  const cost = dollarsToJson(BigInt(record.cost_nano));
  return toComputerObject(record, { limits, cost, hostSilent: false });
}
