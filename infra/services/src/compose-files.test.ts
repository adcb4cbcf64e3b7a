// What stands in two places is held together here: docker-compose.yml, the Dockerfile, and the repository.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICE_NAMES } from '@switchyard/bus/permissions';
import { ROOT } from '@switchyard/local';
import { describe, expect, it } from 'vitest';
import { BASES } from './base-recipes.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const compose = read('docker-compose.yml');
const dockerfile = read('infra/services/Dockerfile');
/** How each image starts what is in it. */
const imageCommands = [...dockerfile.replaceAll('\\\n', '').matchAll(/^CMD (\[.*\])$/gm)].map(
  ([, words]): string[] => JSON.parse(words!),
);

describe('docker-compose.yml', () => {
  it('takes the images that are made here where no registry is reached, under the same variables', () => {
    for (const { variable, official } of Object.values(BASES)) {
      expect(compose).toContain(`\${${variable}:-${official}}`);
    }
  });

  it('gives the Docker socket to the agent alone', () => {
    const services = compose.split(/^ {2}(?=[a-z-]+:$)/m);
    const holders = services.filter((text) => text.includes('docker.sock')).map((text) => text.split(':')[0]);
    expect(holders).toEqual(['computer-agent']);
  });

  it('gives each service the credential of its own NATS user', () => {
    for (const name of SERVICE_NAMES) {
      const service = compose.split(/^ {2}(?=[a-z-]+:$)/m).find((text) => text.startsWith(`${name}:`));
      const files = [...(service ?? '').matchAll(/nats-users\/([a-z-]+)\.env/g)].map(([, user]) => user);
      expect(files, name).toEqual([name]);
    }
  });

  it('gives what decrypts the keys of providers to those alone that store or use them', () => {
    const services = compose.split(/^ {2}(?=[a-z-]+:$)/m);
    const holders = services
      .filter((text) => text.includes('/providers.env'))
      .map((text) => text.split(':')[0]);
    expect(holders).toEqual(['model-router', 'video-worker', 'control']);
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
