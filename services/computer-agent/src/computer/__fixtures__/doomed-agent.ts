// An agent that starts a command and is then killed: argv is the data directory, the agent's id, the computer's, its
// container, the exec's id and the command. It says `started` once the command has written something.
import { makeLogger } from '@switchyard/service';
import Docker from 'dockerode';
import { openComputerHost } from '../open-computer-host.ts';

const [dataDirectory, agentId, computerId, containerId, execId, command] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
  string,
];
const host = await openComputerHost({
  agentId,
  dataDirectory,
  docker: new Docker(),
  logger: makeLogger('test', 'silent'),
  // Computers that run already need no image.
  standardImage: { name: 'none', ensure: () => new Promise(() => {}) },
  burst: { cpu: 4, memoryMb: 2048 },
  defaultSize: { cpu: 1, memoryMb: 1024 },
  diskGb: 1,
  disks: 'required',
  imageGbMax: 10,
  hasRoom: () => true,
  roomBytes: async () => Number.POSITIVE_INFINITY,
  warmPool: 0,
});
const computer = await host.connect({ computerId, containerId, cpu: 1, memoryMb: 1024 });
await computer.init.exec({
  id: execId,
  command,
  timeoutMs: 60_000,
  outputBytesMax: 1_000_000,
  consume: () => void process.send?.('started'),
});
