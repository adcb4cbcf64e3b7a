// Streams a command's output, writes and reads a file in /workspace, shows the computer's metrics, and leaves a command
// running after its caller has gone.
//   node examples/computer-stream.ts "ping -c 3 127.0.0.1"
import { api, key, url } from './client.ts';

type ExecEvent =
  | { type: 'started'; exec_id: string }
  | { type: 'output'; data: string; encoding: 'utf-8' | 'base64' }
  | { type: 'exit'; exit_code: number; duration_ms: number }
  | { type: 'error'; error: { code: string; message: string } };

interface Exec {
  status: 'running' | 'finished';
  result: { stdout: string; exit_code: number } | null;
}

const computer = await api<{ id: string; name: string }>('POST', '/v1/computers', {});
const path = `/v1/computers/${computer.id}`;
try {
  await write('steps.txt', 'one\ntwo\nthree\n');
  const steps = 'while read step; do echo "$step"; sleep 0.5; done < steps.txt | tee done.txt';
  for await (const event of stream({ command: process.argv[2] ?? steps })) show(event);
  console.log(
    'read back:',
    JSON.stringify(await (await request('GET', `${path}/files?path=steps.txt`)).text()),
  );
  const { cpu, memory } = await api<{ cpu: { seconds: number }; memory: { bytes: number } }>(
    'GET',
    `${path}/metrics`,
  );
  console.log(`${cpu.seconds} s of processor, ${Math.round(memory.bytes / 1e6)} MB of memory`);
  console.log(await leftToItself('sleep 1; echo it went on'));
} finally {
  await api('DELETE', path);
}

function request(method: string, where: string, body?: string | object): Promise<Response> {
  return fetch(url + where, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
  });
}

async function write(name: string, content: string): Promise<void> {
  const response = await request('PUT', `${path}/files?path=${name}`, content);
  console.log('written:', await response.json());
}

async function* stream(body: object): AsyncGenerator<ExecEvent> {
  const response = await request('POST', `${path}/exec`, { ...body, stream: true });
  if (!response.ok || !response.body) throw new Error(await response.text());
  let text = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + piece).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]; // a keep-alive comment has none
      if (data) yield JSON.parse(data);
    }
  }
}

function show(event: ExecEvent): void {
  if (event.type === 'output') process.stdout.write(Buffer.from(event.data, event.encoding));
  if (event.type === 'exit') console.log(`(exit ${event.exit_code}, ${event.duration_ms} ms)`);
  if (event.type === 'error') console.log(`(${event.error.code}: ${event.error.message})`);
}

/** Starts a command, disconnects, and fetches the result later. */
async function leftToItself(command: string): Promise<string> {
  let id = '';
  for await (const event of stream({ command, on_disconnect: 'continue' })) {
    if (event.type === 'started') id = event.exec_id;
    break;
  }
  for (;;) {
    const { status, result } = await api<Exec>('GET', `${path}/execs/${id}`);
    if (status === 'finished') return result?.stdout ?? '';
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
