import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cycloneDx, licenceList, packageLock } from './bill-of-materials.ts';
import { ROOT } from './config.ts';

const lock = packageLock.parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));

/** Of another platform, perhaps: then npm locks neither digest nor licence. */
const isOptional = (name: string) => lock.packages[`node_modules/${name}`]?.optional === true;

test('each installed package is in the bill of materials once, with its digest and dependencies', () => {
  const { components, dependencies } = cycloneDx(lock, '1.0.0', new Date(0));
  const refs = new Set(components.map((component) => component['bom-ref']));
  expect(refs.size).toBe(components.length);
  const installed = Object.entries(lock.packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && !link,
  );
  for (const [path, { name, version }] of installed)
    expect(components).toContainEqual(
      expect.objectContaining({ name: name ?? path.split('node_modules/').at(-1), version }),
    );
  const digest = [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }];
  for (const { hashes, name } of components.filter((component) => !isOptional(component.name)))
    expect(hashes, name).toEqual(digest);
  for (const { dependsOn } of dependencies) for (const ref of dependsOn) expect(refs).toContain(ref);
  const fastify = components.find(({ name }) => name === 'fastify')!;
  expect(fastify).toMatchObject({ scope: 'required', purl: `pkg:npm/fastify@${fastify.version}` });
  const ofFastify = dependencies.find(({ ref }) => ref === fastify.purl)!;
  expect(ofFastify.dependsOn.some((ref) => ref.startsWith('pkg:npm/find-my-way@'))).toBe(true);
});

test('each package names its licence, except optional ones of other platforms', () => {
  const { components } = cycloneDx(lock, '1.0.0', new Date(0));
  const unknown = components.filter(({ licenses }) => licenses.length === 0);
  expect(unknown.filter(({ name }) => !isOptional(name))).toEqual([]);
  expect(licenceList(lock)).toMatch(/^MIT: .*fastify@/m);
});
