// What this host serves on the bus, and by whom: the only wiring list.
import type { ServiceHost } from '@switchyard/bus';
import {
  hostCreationStreamSubject,
  hostExecStreamSubject,
  hostFileReadSubject,
  hostFileWriteSubject,
  hostPortSubject,
  hostTerminalSubject,
  hostUploadSubject,
} from '@switchyard/contracts';
import { streamCreation } from './operations/computer-create-stream.ts';
import { streamExecInComputer } from './operations/computer-exec-stream.ts';
import { connectToPort, openTerminal } from './operations/connections.ts';
import { readInComputer, uploadIntoComputer, writeInComputer } from './operations/files.ts';
import { type OperationDeps, serveRequests } from './operations/requests.ts';

export function register(service: ServiceHost, hostId: string, deps: OperationDeps): void {
  serveRequests(service, hostId, deps);
  service.stream(hostCreationStreamSubject(hostId), streamCreation(deps));
  service.stream(hostFileReadSubject(hostId), readInComputer(deps));
  service.stream(hostFileWriteSubject(hostId), writeInComputer(deps));
  service.stream(hostExecStreamSubject(hostId), streamExecInComputer(deps));
  service.stream(hostPortSubject(hostId), connectToPort(deps));
  service.stream(hostTerminalSubject(hostId), openTerminal(deps));
  service.stream(hostUploadSubject(hostId), uploadIntoComputer(deps));
}
