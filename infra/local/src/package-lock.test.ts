/** `npm ci` on a fresh clone needs a complete lock file, wherever it was last written. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ROOT } from './config.ts';

const packageLock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      resolved: z.string().optional(),
      integrity: z.string().optional(),
      optional: z.boolean().optional(),
      link: z.boolean().optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
});

const { packages } = packageLock.parse(JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')));
const installed = Object.entries(packages).filter(
  ([path, entry]) => path.includes('node_modules/') && !entry.link,
);

test('no package has a download address: any registry or mirror serves them', () => {
  expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
});

test('every package that this platform needs has its hash', () => {
  const without = installed.filter(
    ([, { integrity, optional }]) => integrity === undefined && optional !== true,
  );
  expect(without.map(([path]) => path)).toEqual([]);
});

test("other platforms' packages are there too, also those that a mirror does not carry", () => {
  const names = new Set(
    installed.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)),
  );
  const wanted = installed.flatMap(([, entry]) => Object.keys(entry.optionalDependencies ?? {}));
  expect(wanted.filter((name) => !names.has(name))).toEqual([]);
});
