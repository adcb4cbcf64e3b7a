// A Linux computer: create, run commands, stop, start, delete. Files in /workspace survive a stop, and a stored file can
// be copied there.
//   node examples/computer.ts "uname -a"
import { dataOf } from '@switchyard/client';
import { toFile } from 'openai';
import { dollars, openai, switchyard } from './client.ts';

const sy = switchyard();
const computer = await sy.computers.create({ cpu: 1, memory_mb: 1024 });
const { status, cpu, memory_mb, image } = computer.info;
console.log(`${computer.name}: ${status}, ${cpu} core, ${memory_mb} MiB, ${image}`);

try {
  await run('echo "written before the stop" > note.txt');
  await run(process.argv[2] ?? 'cat /etc/debian_version && python3 --version && node --version');
  await computer.stop();
  await computer.start();
  await run('cat note.txt');
  await upload('cities.csv', 'city,inhabitants\nUlm,126000\n');
  await run('wc -l cities.csv');
} finally {
  const { minutes, cost } = await computer.stop();
  await computer.delete();
  console.log(`deleted; ${minutes} minutes, ${dollars(cost)}`);
}

async function run(command: string): Promise<void> {
  const { stdout, exitCode, durationMs } = await computer.exec(command, { timeout: 60 });
  console.log(`\n$ ${command}\n${stdout}(exit ${exitCode}, ${durationMs} ms)`);
}

/** Copies a stored file into /workspace. */
async function upload(name: string, content: string): Promise<void> {
  const { files } = openai();
  const { id } = await files.create({ file: await toFile(Buffer.from(content), name), purpose: 'user_data' });
  try {
    const params = { path: { id: computer.id } };
    const { path, bytes } = await dataOf(
      sy.api.POST('/v1/computers/{id}/upload', { params, body: { file: id, path: name } }),
    );
    console.log(`\n${path}: ${bytes} bytes copied from the stored file ${id}`);
  } finally {
    await files.delete(id);
  }
}
