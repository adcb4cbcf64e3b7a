// Usage and its cost: GET /v1/usage by model and by hour, and the latest lines of GET /v1/logs.
//   node examples/usage.ts
import { api, dollars } from './client.ts';

interface Usage {
  total: { calls: number; cost: number };
  data: { from?: string; group?: string | null; calls: number; cost: number }[];
}

interface Logs {
  data: {
    id: string;
    at: string;
    kind: string;
    status: string;
    model: string | null;
    computer_id: string | null;
    cost: number;
  }[];
}

const byModel = await api<Usage>('GET', '/v1/usage?group_by=model');
console.log(`The last 30 days: ${byModel.total.calls} calls, ${dollars(byModel.total.cost)}\n`);
for (const row of byModel.data)
  console.log(
    `  ${(row.group ?? 'computers').padEnd(24)} ${String(row.calls).padStart(6)} calls  ${dollars(row.cost)}`,
  );

const byHour = await api<Usage>('GET', '/v1/usage?interval=hour');
console.log('\nThe last day, hour by hour:\n');
for (const row of byHour.data.filter(({ cost }) => cost > 0))
  console.log(`  ${row.from}  ${dollars(row.cost)}`);

const { data } = await api<Logs>('GET', '/v1/logs?limit=5');
console.log('\nThe latest:\n');
for (const { at, id, status, model, computer_id, cost } of data)
  console.log(
    `  ${at}  ${status.padEnd(9)} ${dollars(cost).padEnd(14)} ${model ?? computer_id ?? ''}  ${id}`,
  );
