// A Linux computer: create, run commands, stop, start, delete. Files in /workspace survive a stop, and a stored file can
// be copied there.
//   node examples/computer.ts "uname -a"
import { toFile } from 'openai';
import { api, dollars, openai } from './client.ts';

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
  await upload('cities.csv', 'city,inhabitants\nUlm,126000\n');
  await run('wc -l cities.csv');
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

/** Copies a stored file into /workspace. */
async function upload(name: string, content: string): Promise<void> {
  const { files } = openai();
  const { id } = await files.create({ file: await toFile(Buffer.from(content), name), purpose: 'user_data' });
  try {
    const copied = await api<{ path: string; bytes: number }>('POST', `${path}/upload`, {
      file: id,
      path: name,
    });
    console.log(`\n${copied.path}: ${copied.bytes} bytes copied from the stored file ${id}`);
  } finally {
    await files.delete(id);
  }
}
