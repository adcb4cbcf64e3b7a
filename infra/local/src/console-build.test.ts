// The console is built when it has to be: by the real Vite, on the real sources.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './config.ts';
import { ensureConsole } from './console-build.ts';

const BUILD_MS_MAX = 300_000;

test('a build has the page, a second one finds it unchanged', { timeout: BUILD_MS_MAX }, async () => {
  await ensureConsole(process.env, () => {});
  expect(existsSync(join(ROOT, 'services', 'console', 'dist', 'index.html'))).toBe(true);
  const said: string[] = [];
  expect(await ensureConsole(process.env, (text) => said.push(text))).toBe('unchanged');
  expect(said).toEqual([]);
});
