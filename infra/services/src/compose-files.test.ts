// What stands in two places is held together here: docker-compose.yml, the Dockerfile, and the repository.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICE_NAMES } from '@switchyard/contracts';
import { ROOT } from '@switchyard/local';
import { describe, expect, it } from 'vitest';
import { BASES } from './base-recipes.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const compose = read('docker-compose.yml');
/** The text of each service, volume and network, from its name on. */
const blocks = compose.split(/^ {2}(?=[a-z-]+:$)/m);
const blockOf = (service: string) => blocks.find((text) => text.startsWith(`${service}:`)) ?? '';
const dockerfile = read('infra/services/Dockerfile');
/** How each image starts what is in it. */
const imageCommands = [...dockerfile.replaceAll('\\\n', '').matchAll(/^CMD (\[.*\])$/gm)].map(
  ([, words]): string[] => JSON.parse(words!),
);

/** Settings of docs/settings.md that no `environment:` holds. */
const HELD_ELSEWHERE = new Set([
  // Fixed in the image.
  ...['SWITCHYARD_DATA', 'HEALTH_HOST', 'HEALTH_PORT', 'HOST', 'PORT'],
  // In files of `npm run credentials`.
  ...['NATS_USER', 'NATS_PASSWORD', 'MONGODB_PASSWORD', 'SWITCHYARD_PROVIDERS_SECRET'],
  // For several agents on one machine, and for `npm start`.
  ...['SWITCHYARD_INSTANCE', 'SWITCHYARD_COMPUTERS_OFF_REASON'],
]);

/** The variables in a service's `environment:`, with those of the anchors that it merges. */
function environmentOf(service: string): string[] {
  const block = blockOf(service);
  const merged = block.match(/^ {6}<<: (.+)$/m)?.[1] ?? '';
  const anchors = [...merged.matchAll(/\*(\w+)/g)].map(
    ([, anchor]) => compose.match(new RegExp(`^x-${anchor}: .*\n(?: .*\n)+`, 'm'))?.[0] ?? '',
  );
  return [block, ...anchors].flatMap((text) =>
    [...text.matchAll(/^ +([A-Z_]+):/gm)].map(([, name]) => name!),
  );
}

describe('docker-compose.yml', () => {
  it('takes the images that are made here where no registry is reached, under the same variables', () => {
    for (const { variable, official } of Object.values(BASES)) {
      expect(compose).toContain(`\${${variable}:-${official}}`);
    }
  });

  it('gives the Docker socket to the agent alone', () => {
    const holders = blocks.filter((text) => text.includes('docker.sock')).map((text) => text.split(':')[0]);
    expect(holders).toEqual(['computer-agent']);
  });

  it('gives each service the credential of its own NATS user', () => {
    for (const name of SERVICE_NAMES) {
      const files = [...blockOf(name).matchAll(/nats-users\/([a-z-]+)\.env/g)].map(([, user]) => user);
      expect(files, name).toEqual([name]);
    }
  });

  it('gives what decrypts the keys of providers to those alone that store or use them', () => {
    const holders = blocks
      .filter((text) => text.includes('/providers.env'))
      .map((text) => text.split(':')[0]);
    expect(holders).toEqual(['model-router', 'video-worker', 'control']);
  });

  it('passes each setting to those services that read it', () => {
    const rows = read('docs/settings.md')
      .split('\n')
      .filter((row) => row.startsWith('| `'))
      .map((row) => row.split('|').map((cell) => cell.trim()));
    expect(rows.length).toBeGreaterThan(0);
    for (const [, names = '', , of = ''] of rows) {
      const readers = of === 'all' ? SERVICE_NAMES : of.split(', ');
      for (const [, name] of names.matchAll(/`(\w+)`/g)) {
        if (HELD_ELSEWHERE.has(name!)) continue;
        const holders = SERVICE_NAMES.filter((service) => environmentOf(service).includes(name!));
        expect(holders, name).toEqual(SERVICE_NAMES.filter((service) => readers.includes(service)));
      }
    }
  });

  it('runs every service', () => {
    for (const program of globSync('services/*/src/main.ts', { cwd: ROOT })) {
      const isCommand =
        compose.includes(`command: [${program}]`) ||
        imageCommands.some((words) => words.join(' ') === program);
      expect(isCommand, program).toBe(true);
    }
  });
});

describe('the Dockerfile', () => {
  it('installs the packages of every service and every library that services use', () => {
    // For tests, and for callers' programs: no service imports them.
    const forOthers = ['testing', 'ai-provider'].map((name) => join('libs', name, 'package.json'));
    const workspaces = globSync('{libs,services}/*/package.json', { cwd: ROOT });
    for (const path of workspaces.filter((each) => !forOthers.includes(each))) {
      const folder = path.slice(0, -'package.json'.length);
      expect(dockerfile).toContain(`COPY ${path} ${folder}\n`);
    }
  });

  it('copies only what is there', () => {
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) =>
      paths!.split(' '),
    );
    expect(sources.length).toBeGreaterThan(0);
    for (const path of sources) expect(existsSync(join(ROOT, path)), path).toBe(true);
  });
});
