// Usage and its cost: GET /v1/usage by model and by hour, and the latest lines of GET /v1/logs.
//   node examples/usage.ts
import { dataOf } from '@switchyard/client';
import { dollars, switchyard } from './client.ts';

const { api } = switchyard();

const byModel = await dataOf(api.GET('/v1/usage', { params: { query: { group_by: 'model' } } }));
console.log(`The last 30 days: ${byModel.total.calls} calls, ${dollars(byModel.total.cost)}\n`);
for (const row of byModel.data)
  console.log(
    `  ${(row.group ?? 'computers').padEnd(24)} ${String(row.calls).padStart(6)} calls  ${dollars(row.cost)}`,
  );

const byHour = await dataOf(api.GET('/v1/usage', { params: { query: { interval: 'hour' } } }));
console.log('\nThe last day, hour by hour:\n');
for (const row of byHour.data.filter(({ cost }) => cost > 0))
  console.log(`  ${row.from}  ${dollars(row.cost)}`);

const { data } = await dataOf(api.GET('/v1/logs', { params: { query: { limit: 5 } } }));
console.log('\nThe latest:\n');
for (const { at, id, status, model, computer_id, cost } of data)
  console.log(
    `  ${at}  ${status.padEnd(9)} ${dollars(cost).padEnd(14)} ${model ?? computer_id ?? ''}  ${id}`,
  );
