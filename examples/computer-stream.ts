// Streams a command's output, writes and reads a file in /workspace, shows the computer's metrics, and leaves a command
// running after its caller has gone.
//   node examples/computer-stream.ts "ping -c 3 127.0.0.1"
import { dataOf } from '@switchyard/client';
import { switchyard } from './client.ts';

const sy = switchyard();
await using computer = await sy.computers.create(); // deleted at the end of the program

const { bytes } = await computer.files.write('steps.txt', 'one\ntwo\nthree\n');
console.log(`written: ${bytes} bytes`);
const steps = 'while read step; do echo "$step"; sleep 0.5; done < steps.txt | tee done.txt';
for await (const event of computer.execStream(process.argv[2] ?? steps)) {
  if (event.type === 'output') process.stdout.write(event.data);
  if (event.type === 'exit') console.log(`(exit ${event.exitCode}, ${event.durationMs} ms)`);
}
console.log('read back:', JSON.stringify(await computer.files.read('steps.txt')));

const params = { path: { id: computer.id } };
const { cpu, memory } = await dataOf(sy.api.GET('/v1/computers/{id}/metrics', { params }));
console.log(`${cpu.seconds} s of CPU time, ${Math.round(memory.bytes / 1e6)} MB of memory`);
console.log(await leftToItself('sleep 1; echo it went on'));

/** Starts a command, disconnects, and fetches the result later. */
async function leftToItself(command: string): Promise<string> {
  const path = { id: computer.id, exec_id: await startedId(command) };
  for (;;) {
    const exec = await dataOf(sy.api.GET('/v1/computers/{id}/execs/{exec_id}', { params: { path } }));
    if (exec.status === 'finished') return exec.result?.stdout ?? '';
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function startedId(command: string): Promise<string> {
  for await (const event of computer.execStream(command, { on_disconnect: 'continue' }))
    if (event.type === 'started') return event.execId;
  throw new Error('The command did not start.');
}
