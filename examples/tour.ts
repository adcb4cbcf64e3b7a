// `npm run tour`: calls one model of each type, uses a computer, and compares the bill with the answers. It works under a
// key of its own, so its figures include no other calls. It exits with 1 when a figure is off by a nano-dollar.
import { dataOf } from '@switchyard/client';
import { dollars, openai, switchyard, url } from './client.ts';
import { bold, dim, heading, line } from './terminal.ts';
import { useComputer } from './tour-computer.ts';
import { visitModels } from './tour-models.ts';

/** How long the tour waits for its bill: the minute of a computer is booked a little after its last answer. */
const BOOKED_MS_MAX = 60_000;
const BOOKED_RETRY_MS = 500;

const { api: owner } = switchyard();
const tourKey = await dataOf(
  owner.POST('/v1/keys', {
    body: { name: 'tour', permissions: ['models:write', 'computers:write', 'usage:read'] },
  }),
);
const client = openai(tourKey.key);
const sy = switchyard(tourKey.key);

try {
  await listModels();
  const costs = await visitModels({ client, sy });
  const computerCost = await useComputer(sy);
  process.exitCode = (await bill(costs, computerCost)) ? 0 : 1;
} finally {
  await dataOf(owner.DELETE('/v1/keys/{id}', { params: { path: { id: tourKey.id } } }));
}

async function listModels(): Promise<void> {
  heading('Models', `GET ${url}/v1/models`);
  const { data: models } = await dataOf(sy.api.GET('/v1/models'));
  const here = models.filter(({ available }) => available);
  for (const { id, type, name } of here) line(`${id.padEnd(24)} ${dim(type.padEnd(14))} ${name}`);
  if (here.length < models.length)
    line(dim(`and ${models.length - here.length} more, whose makers’ keys are not set here`));
}

/** Whether Usage, Logs and the costs in the answers have the same sum, to the nano-dollar. */
async function bill(costs: readonly number[], computerCost: number): Promise<boolean> {
  heading('The bill', `GET ${url}/v1/usage and /v1/logs, for the tour’s own key`);
  const answered = costs.reduce((sum, cost) => sum + nanos(cost), nanos(computerCost));
  const logs = await bookedLogs(answered);
  const usage = await dataOf(sy.api.GET('/v1/usage', { params: { query: { group_by: 'key' } } }));
  const charged = logs.filter(({ cost }) => cost > 0);
  for (const { kind, model, quantities, cost } of charged.toReversed()) {
    const used = Object.entries(quantities).map(([unit, count]) => `${count} ${unit.replaceAll('_', ' ')}`);
    line(
      `${(model ?? kind.replaceAll('_', ' ')).padEnd(24)} ${dollars(cost).padStart(14)}  ${dim(used.join(', '))}`,
    );
  }
  const figures = {
    'the bill, from Usage': nanos(usage.data.find(({ group }) => group === tourKey.id)?.cost ?? 0),
    'its lines, from Logs': sumOf(logs),
    'costs in the answers': answered,
  };
  console.log();
  for (const [name, figure] of Object.entries(figures))
    line(`${name.padEnd(24)} ${bold(`${figure}`.padStart(9))} nano-dollars`);
  const right = new Set(Object.values(figures)).size === 1;
  console.log(right ? '\n  They agree to the nano-dollar.\n' : '\n  THEY DO NOT AGREE.\n');
  return right;
}

/** The lines of Logs, once they cost what the answers said, or after `BOOKED_MS_MAX`. */
async function bookedLogs(answered: bigint) {
  const until = Date.now() + BOOKED_MS_MAX;
  for (;;) {
    const { data } = await dataOf(sy.api.GET('/v1/logs', { params: { query: { key: tourKey.id } } }));
    if (sumOf(data) >= answered || Date.now() > until) return data;
    await new Promise((resolve) => setTimeout(resolve, BOOKED_RETRY_MS));
  }
}

function sumOf(lines: readonly { cost: number }[]): bigint {
  return lines.reduce((sum, { cost }) => sum + nanos(cost), 0n);
}

/** Whole nano-dollars, because sums of floats are not exact. Amounts in JSON have at most 9 decimals. */
function nanos(amount: number): bigint {
  return BigInt(Math.round(amount * 1e9));
}
