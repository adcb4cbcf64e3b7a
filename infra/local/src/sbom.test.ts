import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ROOT } from './config.ts';

interface Component {
  'bom-ref': string;
  name: string;
  version: string;
  purl: string;
  hashes?: { alg: string; content: string }[];
  licenses?: object[];
}
interface Bill {
  specVersion: string;
  metadata: { component: { version: string } };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}
interface Locked {
  name?: string;
  version?: string;
  link?: boolean;
  optional?: boolean;
}

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const locked: Record<string, Locked> = JSON.parse(read('package-lock.json')).packages;

/** Perhaps for another platform: npm then locks neither digest nor licence. */
const isOptional = (name: string) => locked[`node_modules/${name}`]?.optional === true;

let bill: Bill;
beforeAll(() => {
  execFileSync(process.execPath, [join(import.meta.dirname, 'sbom.ts')]);
  bill = JSON.parse(read('output/sbom.cdx.json'));
});

test('each installed package is in the bill of materials once, with its digest and dependencies', () => {
  const { components, dependencies } = bill;
  expect(bill.specVersion).toBe('1.5');
  expect(bill.metadata.component.version).toBe(JSON.parse(read('lerna.json')).version);
  const listed = components.map((component) => component['bom-ref']);
  const installed = Object.entries(locked)
    .filter(([path, { link }]) => path.includes('node_modules/') && !link)
    .map(([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`);
  expect(listed.sort()).toEqual([...new Set(installed)].sort());
  const digest = [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }];
  for (const { hashes, name } of components.filter((component) => !isOptional(component.name)))
    expect(hashes, name).toEqual(digest);
  const known = new Set(listed);
  expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !known.has(ref))).toEqual([]);
  const fastify = components.find(({ name }) => name === 'fastify')!;
  expect(fastify.purl).toBe(`pkg:npm/fastify@${fastify.version}`);
  const ofFastify = dependencies.find(({ ref }) => ref === fastify['bom-ref'])!;
  expect(ofFastify.dependsOn.some((ref) => ref.startsWith('find-my-way@'))).toBe(true);
});

test('each package names its licence, except optional ones of other platforms', () => {
  const unknown = bill.components.filter(({ licenses }) => !licenses?.length);
  expect(unknown.filter(({ name }) => !isOptional(name))).toEqual([]);
  expect(read('output/licences.txt')).toMatch(/^MIT: .*fastify@/m);
});
