// `switchyard keys`: API keys and what bounds them.
import { dataOf, type paths } from '@switchyard/client';
import { type Command, InvalidArgumentError } from 'commander';
import { addAssignment } from './assignment.ts';
import { forEach } from './for-each.ts';
import { dollars, printResult, printTable } from './print.ts';
import { readCount } from './read-count.ts';
import { connect } from './settings.ts';

type CreateKey = paths['/v1/keys']['post']['requestBody']['content']['application/json'];
type Limit = NonNullable<CreateKey['limit']>;

/** Removes a bound. A parser of commander cannot return null. */
const NONE = 'none';

interface BoundOptions {
  limit?: Limit | typeof NONE;
  models?: string[] | typeof NONE;
  expires?: string;
  rpm?: number | typeof NONE;
  tpm?: number | typeof NONE;
  concurrentCalls?: number | typeof NONE;
  concurrentCommands?: number | typeof NONE;
  metadata?: Record<string, string> | typeof NONE;
}

interface KeyOptions extends BoundOptions {
  permissions: CreateKey['permissions'];
}

export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('API keys');
  keys
    .command('ls')
    .description('list the keys of your org')
    .action(async (_options: object, command: Command) => {
      const sy = await connect();
      const { data } = await dataOf(sy.api.GET('/v1/keys'));
      const rows = data.map(({ id, name, prefix, permissions, limit, expires_at }) => [
        ...[id, name, prefix, permissions.join(','), limitText(limit), expires_at],
      ]);
      const headings = ['KEY', 'NAME', 'PREFIX', 'PERMISSIONS', 'LIMIT', 'EXPIRES AT'];
      printTable(command, headings, rows, data);
    });
  const create = keys
    .command('create')
    .description('create a key, and print it once')
    .argument('<name>')
    .requiredOption(
      '-p, --permissions <list>',
      'separated by commas, such as models:write,computers:write',
      readList,
    )
    .action(async (name: string, { permissions, ...bounds }: KeyOptions, command: Command) => {
      const sy = await connect();
      const key = await dataOf(sy.api.POST('/v1/keys', { body: { ...bodyOf(bounds), name, permissions } }));
      printResult(command, key.key, key);
    });
  const set = keys
    .command('set')
    .description('change the limits of a key: omitted options keep their values, `none` removes one')
    .argument('<id>')
    .action(async (id: string, bounds: BoundOptions, command: Command) => {
      const sy = await connect();
      const params = { path: { id } };
      const key = await dataOf(sy.api.PATCH('/v1/keys/{id}', { params, body: bodyOf(bounds) }));
      printResult(command, `${id} is changed`, key);
    });
  for (const command of [create, set]) addBoundOptions(command);
  addEndCommands(keys);
}

function addBoundOptions(command: Command): void {
  command
    .option(
      '--limit <dollars/interval>',
      'what it may spend: 5/day, 20.50/week or 100/month',
      orNone(readLimit),
    )
    .option(
      '--models <list>',
      'models that it may use, separated by commas: local/*,acme/one',
      orNone(readList),
    )
    .option('--expires <time>', 'when it expires, as ISO 8601')
    .option('--rpm <count>', 'requests per minute', orNone(readCount))
    .option('--tpm <count>', 'tokens of models per minute', orNone(readCount))
    .option('--concurrent-calls <count>', 'model calls at the same time', orNone(readCount))
    .option('--concurrent-commands <count>', 'commands in computers at the same time', orNone(readCount))
    .option(
      '--metadata <name=value>',
      'a tag of its calls and computers; may be repeated, and replaces those that it has',
      readTag,
    );
}

function addEndCommands(keys: Command): void {
  keys
    .command('rotate')
    .description('give a key a new secret, and print it once')
    .argument('<id>')
    .option('--grace-minutes <count>', 'minutes that the former secret stays valid', readCount)
    .action(async (id: string, { graceMinutes }: { graceMinutes?: number }, command: Command) => {
      const sy = await connect();
      const params = { path: { id } };
      const body = graceMinutes === undefined ? {} : { grace_minutes: graceMinutes };
      const key = await dataOf(sy.api.POST('/v1/keys/{id}/rotate', { params, body }));
      printResult(command, key.key, key);
    });
  keys
    .command('rm')
    .description('revoke keys')
    .argument('<id...>')
    .action(async (ids: string[], _options: object, command: Command) => {
      const sy = await connect();
      await forEach(ids, async (id) => {
        const deleted = await dataOf(sy.api.DELETE('/v1/keys/{id}', { params: { path: { id } } }));
        printResult(command, `${id} is revoked`, deleted);
      });
    });
}

/** JSON leaves out what is undefined. */
function bodyOf({ limit, models, expires, metadata, ...rates }: BoundOptions): Partial<CreateKey> {
  const limits = {
    requests_per_minute: orNull(rates.rpm),
    tokens_per_minute: orNull(rates.tpm),
    concurrent_calls: orNull(rates.concurrentCalls),
    concurrent_commands: orNull(rates.concurrentCommands),
  };
  const bounds = {
    limit: orNull(limit),
    models: orNull(models),
    expires_at: orNull(expires),
    metadata: orNull(metadata),
    limits,
  };
  return bounds as Partial<CreateKey>;
}

function orNull<T>(value: T): Exclude<T, typeof NONE> | null {
  return value === NONE ? null : (value as Exclude<T, typeof NONE>);
}

function orNone<T>(read: (text: string) => T): (text: string) => T | typeof NONE {
  return (text) => (text === NONE ? NONE : read(text));
}

function readTag(text: string, others: BoundOptions['metadata'] = NONE): BoundOptions['metadata'] {
  return text === NONE ? NONE : addAssignment(text, others === NONE ? {} : others);
}

function readList<T extends string>(text: string): T[] {
  return text.split(',') as T[];
}

function readLimit(text: string): Limit {
  const [, amount, interval] = /^(\d+(?:\.\d+)?)\/(day|week|month)$/.exec(text) ?? [];
  if (interval === undefined) throw new InvalidArgumentError('Write <dollars>/day, /week or /month.');
  return { amount: Number(amount), interval: interval as Limit['interval'] };
}

function limitText(limit: CreateKey['limit']): string | null {
  return limit ? `${dollars(limit.amount)}/${limit.interval}` : null;
}
