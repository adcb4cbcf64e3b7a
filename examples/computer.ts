// A Linux computer for a moment: create, run commands, stop, start, delete. Files in /workspace outlive a stop.
//   node examples/computer.ts "uname -a"
import { api, dollars } from './client.ts';

interface Computer {
  id: string;
  name: string;
  status: string;
  image: string;
  cpu: number;
  memory_mb: number;
  minutes: number;
  cost: number;
}

interface ExecResult {
  stdout: string;
  exit_code: number;
  duration_ms: number;
}

const computer = await api<Computer>('POST', '/v1/computers', { cpu: 1, memory_mb: 1024 });
const path = `/v1/computers/${computer.id}`;
console.log(
  `${computer.name}: ${computer.status}, ${computer.cpu} core, ${computer.memory_mb} MiB, ${computer.image}`,
);

try {
  await run('echo "written before the stop" > note.txt');
  await run(process.argv[2] ?? 'cat /etc/debian_version && python3 --version && node --version');
  await api('POST', `${path}/stop`);
  await api('POST', `${path}/start`);
  await run('cat note.txt');
} finally {
  await api('POST', `${path}/stop`);
  const { minutes, cost } = await api<Computer>('GET', path);
  await api('DELETE', path);
  console.log(`deleted; ${minutes} minutes, ${dollars(cost)}`);
}

async function run(command: string): Promise<void> {
  const result = await api<ExecResult>('POST', `${path}/exec`, { command, timeout: 60 });
  console.log(`\n$ ${command}\n${result.stdout}(exit ${result.exit_code}, ${result.duration_ms} ms)`);
}
