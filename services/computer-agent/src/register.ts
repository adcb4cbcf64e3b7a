// All handlers of this host's subjects: the only wiring list.
import type { ServiceHost } from '@switchyard/bus';
import { hostSubject } from '@switchyard/contracts';
import { streamCreation } from './operations/computer-create-stream.ts';
import { streamExecInComputer } from './operations/computer-exec-stream.ts';
import { connectToPort, openTerminal } from './operations/connections.ts';
import { readInComputer, uploadIntoComputer, writeInComputer } from './operations/files.ts';
import { type OperationDeps, serveRequests } from './operations/requests.ts';

export function register(service: ServiceHost, hostId: string, deps: OperationDeps): void {
  serveRequests(service, hostId, deps);
  service.stream(hostSubject(hostId, 'create-stream'), streamCreation(deps));
  service.stream(hostSubject(hostId, 'file-read'), readInComputer(deps));
  service.stream(hostSubject(hostId, 'file-write'), writeInComputer(deps));
  service.stream(hostSubject(hostId, 'exec-stream'), streamExecInComputer(deps));
  service.stream(hostSubject(hostId, 'port'), connectToPort(deps));
  service.stream(hostSubject(hostId, 'terminal'), openTerminal(deps));
  service.stream(hostSubject(hostId, 'upload'), uploadIntoComputer(deps));
}
