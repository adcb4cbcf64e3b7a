import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AI_SDK_MAKERS } from './registry.ts';

const TYPES_BY_JOBS = ['video'];

describe.each(AI_SDK_MAKERS.map((maker) => [maker.name, maker] as const))('%s', (name, maker) => {
  test('makes a model of each type that it declares', async () => {
    const models = await maker.create({ baseURL: maker.baseUrl, apiKey: 'k', fetch });
    for (const type of maker.types.filter((one) => !TYPES_BY_JOBS.includes(one)))
      expect(models[type]?.('a-model').modelId).toBe('a-model');
  });

  test('has contract tests, with fixtures that name their source', () => {
    const folder = join(import.meta.dirname, name);
    expect(readdirSync(folder).some((file) => file.endsWith('contract.test.ts'))).toBe(true);
    const fixtures = join(folder, '__fixtures__');
    expect(existsSync(fixtures)).toBe(true);
    for (const file of readdirSync(fixtures).filter((one) => one.endsWith('.json')))
      expect(JSON.parse(readFileSync(join(fixtures, file), 'utf8')), file).toHaveProperty('source');
  });
});

/** Prints the AI SDK packages that a module imports, directly or indirectly. */
const IMPORTS = `
  import { registerHooks } from 'node:module';
  const seen = new Set();
  registerHooks({ resolve(name, context, next) { seen.add(name); return next(name, context); } });
  await import(process.argv[1]);
  console.log(JSON.stringify([...seen].filter((name) => name.startsWith('@ai-sdk/')).sort()));
`;

test('a router starts without the makers’ packages: each is imported at its first call', () => {
  const module = join(import.meta.dirname, 'registry.ts');
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', IMPORTS, module], {
    encoding: 'utf8',
  });
  expect(JSON.parse(stdout)).toEqual(['@ai-sdk/provider', '@ai-sdk/provider-utils']);
});
