// `switchyard files`: stored files.
import { createWriteStream, openAsBlob } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { dataOf } from '@switchyard/client';
import type { Command } from 'commander';
import { forEach } from './for-each.ts';
import { printResult, printTable } from './print.ts';
import { readCount } from './read-count.ts';
import { connect } from './settings.ts';

interface ListOptions {
  limit: number;
  after?: string;
  json?: boolean;
}

export function addFileCommands(program: Command): void {
  const files = program.command('files').description('stored files');
  files
    .command('ls')
    .description('list stored files, newest first')
    .option('-n, --limit <count>', 'maximum files', readCount, 50)
    .option('--after <id>', 'begin after this file, the last of the previous page')
    .action(async ({ json: _, ...query }: ListOptions, command: Command) => {
      const sy = await connect();
      const { data } = await dataOf(sy.api.GET('/v1/files', { params: { query } }));
      const rows = data.map((file) => [file.id, file.filename, file.bytes, file.created_at_iso]);
      printTable(command, ['FILE', 'NAME', 'BYTES', 'STORED AT'], rows, data);
    });
  files
    .command('put')
    .description('store a file, and print its id')
    .argument('<path>')
    .action(async (path: string, _options: object, command: Command) => {
      const sy = await connect();
      await using opened = await open(path); // its errors name the path, unlike those of `openAsBlob`
      if ((await opened.stat()).isDirectory()) throw new Error(`${path} is a folder: put stores one file.`);
      const form = new FormData();
      form.set('file', await openAsBlob(path), basename(path));
      const body = { file: '' };
      const file = await dataOf(sy.api.POST('/v1/files', { body, bodySerializer: () => form }));
      printResult(command, file.id, file);
    });
  files
    .command('get')
    .description('write a stored file to a path, or to standard output')
    .argument('<id>')
    .argument('[path]')
    .action(async (id: string, path: string | undefined) => {
      const sy = await connect();
      const params = { path: { id } };
      const body = await dataOf(sy.api.GET('/v1/files/{id}/content', { params, parseAs: 'stream' }));
      const content = body ? Readable.fromWeb(body) : Readable.from([]); // an empty file
      await pipeline(content, path === undefined ? process.stdout : createWriteStream(path));
    });
  files
    .command('rm')
    .description('delete stored files')
    .argument('<id...>')
    .action(async (ids: string[], _options: object, command: Command) => {
      const sy = await connect();
      await forEach(ids, async (id) => {
        const deleted = await dataOf(sy.api.DELETE('/v1/files/{id}', { params: { path: { id } } }));
        printResult(command, `${id} is deleted`, deleted);
      });
    });
}
