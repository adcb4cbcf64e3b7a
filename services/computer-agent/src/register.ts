// What this host serves on the bus, and by whom: the only wiring list.
import type { ServiceHost } from '@switchyard/bus';
import {
  type ComputerLimits,
  hostCreationStreamSubject,
  hostExecStreamSubject,
  hostFileReadSubject,
  hostFileWriteSubject,
  hostPortSubject,
  hostTerminalSubject,
  hostUploadSubject,
} from '@switchyard/contracts';
import type { Computers } from './lifecycle/computers.ts';
import { createComputer } from './operations/computer-create.ts';
import { streamCreation } from './operations/computer-create-stream.ts';
import { deleteComputer } from './operations/computer-delete.ts';
import { execInComputer } from './operations/computer-exec.ts';
import { getExec } from './operations/computer-exec-get.ts';
import { listExecs } from './operations/computer-exec-list.ts';
import { streamExecInComputer } from './operations/computer-exec-stream.ts';
import { deleteInComputer } from './operations/computer-file-delete.ts';
import { readInComputer } from './operations/computer-file-read.ts';
import { writeInComputer } from './operations/computer-file-write.ts';
import { measureComputer } from './operations/computer-metrics.ts';
import { connectToPort } from './operations/computer-port.ts';
import { startComputer } from './operations/computer-start.ts';
import { stopComputer } from './operations/computer-stop.ts';
import { openTerminal } from './operations/computer-terminal.ts';
import { uploadIntoComputer } from './operations/computer-upload.ts';
import { showComputers } from './operations/show-computer.ts';

export interface Served {
  readonly hostId: string;
  readonly computers: Computers;
  readonly limits: ComputerLimits;
}

export function register(service: ServiceHost, { hostId, computers, limits }: Served): void {
  const on = { computers, limits, show: showComputers(limits) };
  service.handleHost(hostId, 'create', (request, context) => createComputer(on, request, context));
  service.handleHost(hostId, 'start', (request) => startComputer(on, request));
  service.handleHost(hostId, 'stop', (request) => stopComputer(on, request));
  service.handleHost(hostId, 'delete', (request) => deleteComputer(on, request));
  service.handleHost(hostId, 'exec', (request, context) => execInComputer(on, request, context));
  service.handleHost(hostId, 'exec-get', (request) => getExec(on, request));
  service.handleHost(hostId, 'exec-list', (request) => listExecs(on, request));
  service.handleHost(hostId, 'file-delete', (request) => deleteInComputer(on, request));
  service.handleHost(hostId, 'metrics', (request) => measureComputer(on, request));
  service.stream(hostCreationStreamSubject(hostId), streamCreation(on));
  service.stream(hostFileReadSubject(hostId), readInComputer(on));
  service.stream(hostFileWriteSubject(hostId), writeInComputer(on));
  service.stream(hostExecStreamSubject(hostId), streamExecInComputer(on));
  service.stream(hostPortSubject(hostId), connectToPort(on));
  service.stream(hostTerminalSubject(hostId), openTerminal(on));
  service.stream(hostUploadSubject(hostId), uploadIntoComputer(on));
}
