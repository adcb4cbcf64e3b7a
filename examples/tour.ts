// `npm run tour`: the whole of Switchyard in a minute, and the proof that its bill is right. It works under a key of its
// own, so that whatever else goes on is not in its figures; it exits with 1 when a figure is off by a nano-dollar.
import { ApiError, api, costOf, dollars, openai, url } from './client.ts';
import { bold, dim, heading, line, waitingLine } from './terminal.ts';

/** How long the tour waits for a computer: the first start builds its image. */
const COMPUTER_WAIT_MS_MAX = 45 * 60_000;
const COMPUTER_RETRY_MS = 5_000;
const TOUR_PERMISSIONS = ['models:write', 'computers:write', 'usage:read'];

interface Computer {
  id: string;
  name: string;
  status: string;
  minutes: number;
  cost: number;
}

interface Usage {
  data: { group?: string | null; cost: number }[];
}

interface Logs {
  data: { kind: string; model: string | null; quantities: Record<string, number>; cost: number }[];
}

const tourKey = await api<{ id: string; key: string }>('POST', '/v1/keys', {
  name: 'tour',
  permissions: TOUR_PERMISSIONS,
});
const client = openai(tourKey.key);

try {
  await listModels();
  const told = [await chat(), await embed()];
  const computerCost = await computer();
  process.exitCode = (await bill(told, computerCost)) ? 0 : 1;
} finally {
  await api('DELETE', `/v1/keys/${tourKey.id}`);
}

async function listModels(): Promise<void> {
  heading('Models', `GET ${url}/v1/models`);
  for await (const model of client.models.list()) {
    const { type, name } = model as typeof model & { type: string; name: string };
    line(`${model.id.padEnd(24)} ${dim(type.padEnd(14))} ${name}`);
  }
}

/** Dollars told in the stream's last chunk. */
async function chat(): Promise<number> {
  const content = 'What is 6 times 7?';
  heading('A chat, streamed', `local/chat is asked: ${content}`);
  const messages = [{ role: 'user' as const, content }];
  const stream = await client.chat.completions.create({ model: 'local/chat', messages, stream: true });
  let cost = 0;
  process.stdout.write('  ');
  for await (const chunk of stream) {
    process.stdout.write(bold(chunk.choices[0]?.delta.content ?? ''));
    if (chunk.usage) cost = costOf(chunk.usage);
  }
  console.log();
  line(dim(dollars(cost)));
  return cost;
}

/** Dollars told in `usage.cost`. */
async function embed(): Promise<number> {
  heading('Vectors', 'local/embed compares three sentences');
  const input = ['A cold wind and heavy rain', 'Rain, and a strong wind', 'Bake the bread for an hour'];
  const { data, usage } = await client.embeddings.create({ model: 'local/embed', input });
  const [first = [], second = [], third = []] = data.map(({ embedding }) => embedding);
  line(`"${input[0]}" ~ "${input[1]}": ${bold(dot(first, second).toFixed(2))}`);
  line(`"${input[0]}" ~ "${input[2]}": ${bold(dot(first, third).toFixed(2))}`);
  line(dim(`${first.length} dimensions, ${usage.prompt_tokens} tokens, ${dollars(costOf(usage))}`));
  return costOf(usage);
}

/** Dollars of its minutes, by its own account; 0 where this installation has no computers. */
async function computer(): Promise<number> {
  heading('A computer', 'created, used, stopped, deleted');
  if (!(await hasComputers())) return 0;
  const made = await createComputer();
  const path = `/v1/computers/${made.id}`;
  try {
    line(`${made.name} is ${made.status}`);
    const command = "python3 -c 'print(6*7)'";
    const result = await api<{ stdout: string; exit_code: number; duration_ms: number }>(
      'POST',
      `${path}/exec`,
      { command },
      tourKey.key,
    );
    line(`$ ${command}`);
    line(`${bold(result.stdout.trim())} ${dim(`(exit ${result.exit_code}, ${result.duration_ms} ms)`)}`);
    if (result.stdout !== '42\n')
      throw new Error(`the computer says ${JSON.stringify(result.stdout)}, not 42`);
    await api('POST', `${path}/stop`, undefined, tourKey.key);
    const stopped = await api<Computer>('GET', path, undefined, tourKey.key);
    line(`${stopped.name} is ${stopped.status}; ${stopped.minutes} minute(s) ${dim(dollars(stopped.cost))}`);
    return stopped.cost;
  } finally {
    await api('DELETE', path, undefined, tourKey.key);
  }
}

/** Whether this installation has computers at all; its options are there as soon as it has. */
async function hasComputers(): Promise<boolean> {
  try {
    await api('GET', '/v1/computers/options', undefined, tourKey.key);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'no_capacity')) throw error;
    line(`none here: ${error.message}`);
    return false;
  }
}

/** Waits, telling the progress, while there is no room or the image is still being built. */
async function createComputer(): Promise<Computer> {
  const until = Date.now() + COMPUTER_WAIT_MS_MAX;
  const tell = waitingLine();
  for (;;) {
    try {
      const made = await api<Computer>('POST', '/v1/computers', { name: 'tour' }, tourKey.key);
      tell('');
      return made;
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'no_capacity') || Date.now() > until) throw error;
      tell(error.message);
      await new Promise((resolve) => setTimeout(resolve, COMPUTER_RETRY_MS));
    }
  }
}

/** Whether the bill, its lines and what the answers told all come to the same, to the nano-dollar. */
async function bill(told: readonly number[], computerCost: number): Promise<boolean> {
  heading('The bill', `GET ${url}/v1/usage and /v1/logs, for the tour’s own key`);
  const usage = await api<Usage>('GET', '/v1/usage?group_by=key', undefined, tourKey.key);
  const logs = await api<Logs>('GET', `/v1/logs?key=${tourKey.id}`, undefined, tourKey.key);
  const charged = logs.data.filter(({ cost }) => cost > 0);
  for (const { kind, model, quantities, cost } of charged.toReversed()) {
    const used = Object.entries(quantities).map(([unit, count]) => `${count} ${unit.replaceAll('_', ' ')}`);
    line(
      `${(model ?? kind.replaceAll('_', ' ')).padEnd(24)} ${dollars(cost).padStart(14)}  ${dim(used.join(', '))}`,
    );
  }
  const figures = {
    'the bill, from Usage': nanos(usage.data.find(({ group }) => group === tourKey.id)?.cost ?? 0),
    'its lines, from Logs': logs.data.reduce((sum, { cost }) => sum + nanos(cost), 0n),
    'told in the answers': told.reduce((sum, cost) => sum + nanos(cost), nanos(computerCost)),
  };
  console.log();
  for (const [name, figure] of Object.entries(figures))
    line(`${name.padEnd(24)} ${bold(`${figure}`.padStart(9))} nano-dollars`);
  const right = new Set(Object.values(figures)).size === 1;
  console.log(right ? '\n  They agree to the nano-dollar.\n' : '\n  THEY DO NOT AGREE.\n');
  return right;
}

/** Whole nano-dollars: JSON's figures have at most 9 decimals, and sums of floats would not be exact. */
function nanos(amount: number): bigint {
  return BigInt(Math.round(amount * 1e9));
}

/** The cosine, as the vectors have the norm 1. */
function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}
