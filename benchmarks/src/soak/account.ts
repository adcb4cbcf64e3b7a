// The bill of a soak against what ran: records, events and ledger minute by minute, and a stopwatch of our own.
import type { EventLog, TestStack } from '@switchyard/testing';
import type { Answer, ComputerClient } from '../computer-client.ts';

const MINUTE_MS = 60_000;
/** To so much a run’s events know when it began and ended: its container goes in between. Outages come on top. */
const STOPWATCH_MS = 5_000;
const NANOS = 1e9;

export interface AccountOptions {
  readonly stack: TestStack;
  readonly client: ComputerClient;
  readonly events: EventLog;
  /** Of stopped computers. */
  readonly ids: readonly string[];
  readonly longestOutageMs: number;
}

export interface Account {
  readonly minutes: number;
  readonly runs: number;
  /** What does not agree, in words. */
  readonly differences: readonly string[];
}

interface Row {
  minutes: number;
  cost: number;
}

/** Compares, for each computer and run; an account without differences is exact. */
export async function readAccount(options: AccountOptions): Promise<Account> {
  const { events, ids } = options;
  const differences: string[] = [];
  const ledger = await readLedger(options);
  let total = 0;
  let runs = 0;
  for (const id of ids) {
    const { minutes, cost, status } = await readRecord(options, id);
    if (status !== 'stopped') differences.push(`${id} is ${status}`);
    total += minutes;
    await events.until(`the last minute of ${id}`, () => meteredOf(events, id).length >= minutes);
    const metered = meteredOf(events, id);
    const eventsCost = metered.reduce((sum, { data }) => sum + Number(data.cost_nano), 0) / NANOS;
    for (const [where, row] of [
      ['events', { minutes: metered.length, cost: eventsCost }],
      ['ledger', ledger.get(id) ?? { minutes: 0, cost: 0 }],
    ] as const)
      if (row.minutes !== minutes || Math.round((row.cost - cost) * NANOS) !== 0)
        differences.push(
          `${id}: the record has ${minutes} minutes and ${cost} dollars, the ${where} ${row.minutes} and ${row.cost}`,
        );
    const byRun = Map.groupBy(metered, ({ data }) => data.run);
    runs += byRun.size;
    differences.push(...againstStopwatch(options, id, byRun));
  }
  return { minutes: total, runs, differences };
}

function meteredOf(events: EventLog, id: string) {
  return events.of('computer.metered').filter(({ data }) => data.computer_id === id);
}

/** The minutes of each run are 0, 1, 2 … without a gap, as many as were begun between its first and its last event. */
function againstStopwatch(
  { events, longestOutageMs }: AccountOptions,
  id: string,
  byRun: ReadonlyMap<number, readonly { data: { minute: number } }[]>,
): string[] {
  const differences: string[] = [];
  const changes = [
    ...events.of('computer.created'),
    ...events.of('computer.started'),
    ...events.of('computer.stopped'),
  ]
    .filter(({ data }) => data.computer_id === id)
    .map(({ time, type, data }) => ({
      at: Date.parse(time),
      began: type !== 'computer.stopped',
      run: data.run,
    }));
  for (const [run, metered] of byRun) {
    const minutes = metered.map(({ data }) => data.minute).toSorted((a, b) => a - b);
    if (minutes.some((minute, index) => minute !== index))
      differences.push(`${id}, run ${run}: the minutes ${minutes.join(', ')}`);
    const began = changes.find((change) => change.began && change.run === run)?.at;
    const ended = changes.find((change) => !change.began && change.run === run)?.at;
    if (began === undefined || ended === undefined) {
      differences.push(`${id}, run ${run}: charged, but no event says that it ${began ? 'ended' : 'began'}`);
      continue;
    }
    const unsure = STOPWATCH_MS + longestOutageMs;
    const least = Math.max(1, Math.ceil((ended - began - unsure) / MINUTE_MS));
    const most = Math.max(1, Math.ceil((ended - began + unsure) / MINUTE_MS));
    if (minutes.length < least || minutes.length > most)
      differences.push(
        `${id}, run ${run}: ${minutes.length} minutes charged for ${(ended - began) / 1_000} s`,
      );
  }
  for (const { run, began } of changes)
    if (began && run !== null && !byRun.has(run))
      differences.push(`${id}, run ${run}: it ran and was not charged`);
  return differences;
}

async function readRecord({ client }: AccountOptions, id: string): Promise<Row & { status: string }> {
  return expectOk(await client.attempt('GET', `/v1/computers/${id}`)) as Row & { status: string };
}

/** Minutes and dollars by computer, as usage has them: made of the ledger, caught up with the events. */
async function readLedger({ client }: AccountOptions): Promise<Map<string, Row>> {
  const usage = expectOk(await client.attempt('GET', '/v1/usage?group_by=computer')) as {
    data: { group: string; cost: number; quantities: { minutes?: number } }[];
  };
  const rows = new Map<string, Row>();
  for (const { group, cost, quantities } of usage.data) {
    const row = rows.get(group) ?? { minutes: 0, cost: 0 };
    rows.set(group, { minutes: row.minutes + (quantities.minutes ?? 0), cost: row.cost + cost });
  }
  return rows;
}

function expectOk({ status, body }: Answer): unknown {
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}
