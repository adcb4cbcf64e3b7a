// `switchyard keys`: API keys.
import { dataOf, type paths } from '@switchyard/client';
import type { Command } from 'commander';
import { printResult, printTable } from './print.ts';
import { connect } from './settings.ts';

type Permission =
  paths['/v1/keys']['post']['requestBody']['content']['application/json']['permissions'][number];

export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('API keys');
  keys
    .command('ls')
    .description('list the keys of your org')
    .action(async (_options: object, command: Command) => {
      const sy = await connect();
      const { data } = await dataOf(sy.api.GET('/v1/keys'));
      const rows = data.map((key) => [
        key.id,
        key.name,
        key.prefix,
        key.permissions.join(','),
        key.expires_at,
      ]);
      printTable(command, ['KEY', 'NAME', 'PREFIX', 'PERMISSIONS', 'EXPIRES AT'], rows, data);
    });
  keys
    .command('create')
    .description('make a key, and print it this once')
    .argument('<name>')
    .requiredOption('-p, --permissions <list>', 'separated by commas, such as models:write,computers:write')
    .action(async (name: string, { permissions }: { permissions: string }, command: Command) => {
      const sy = await connect();
      const body = { name, permissions: permissions.split(',') as Permission[] };
      const key = await dataOf(sy.api.POST('/v1/keys', { body }));
      printResult(command, key.key, key);
    });
  keys
    .command('rm')
    .description('revoke keys')
    .argument('<id...>')
    .action(async (ids: string[], _options: object, command: Command) => {
      const sy = await connect();
      for (const id of ids) {
        const deleted = await dataOf(sy.api.DELETE('/v1/keys/{id}', { params: { path: { id } } }));
        printResult(command, `${id} is revoked`, deleted);
      }
    });
}
